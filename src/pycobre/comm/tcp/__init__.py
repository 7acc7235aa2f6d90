"""Ranks of any machines over sockets, in Python but for the first attempt of a meeting.

=============  ====================================================================================
module         holds
=============  ====================================================================================
config         where to meet, limits; what the variables of each launcher say of it
secret         what only the ranks of one job know
liveness       how a connection notices that the other side has fallen silent, and for how long it has been
sockets        where sockets listen, and how connections are set up
link           one connection to one peer
tls            the same inside TLS
handshake      the messages by which two sides prove that they know the job's secret; no input or output
door           a listening socket that lets in nobody else
knock          the other side of a door
card           what ranks tell of themselves when they meet; no input or output
notes          short messages while a group comes together
circle         all ranks around rank 0: each says something, all hear everything
join           how a group comes together: everyone with rank 0, then everyone with everyone
verdict        why a group failed, in words
frame          what travels on a link; no input or output
control        what ranks tell each other besides collectives; no input or output
flow           frames on their way over data links, a step at a time
driver         how a rank waits while bytes go over many links at once
meeting        every collective's first exchange: all calls and small payloads to all ranks
agendas        what meetings will bring, kept for calls that are repeated
exchange       large payloads, directly between the ranks
wire           a control link with what has yet to go out on it
judge          what rank 0 concludes from what it hears; no input or output
watch          the thread that notices who is lost, stopped, late or leaves
duplicate      how a group comes together a second time
communicator   the backend
=============  ====================================================================================
"""

from pycobre.comm.tcp.config import TcpConfig as TcpConfig
from pycobre.comm.tcp.config import TlsFiles as TlsFiles
