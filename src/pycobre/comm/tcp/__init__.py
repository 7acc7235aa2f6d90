"""Ranks of any machines over sockets, in plain Python.

=============  ====================================================================================
module         holds
=============  ====================================================================================
config         where to meet, the secret, limits; what the variables of each launcher say of it
handshake      the messages by which two sides prove that they know the job's secret; no input or output
door           a listening socket that lets in nobody else
join           how a group comes together: everyone with rank 0, then everyone with everyone
link           one connection to one peer
verdict        why a group failed, in words
call           what a rank calls, to be compared
frame          what travels on a link; no input or output
flow           bytes over many links at once, and how a rank waits for them
meeting        every collective's first exchange: all calls and small payloads to all ranks
exchange       large payloads, directly between the ranks
judge          what rank 0 concludes from what it hears; no input or output
watch          the thread that notices who is lost, stopped, late or leaves
communicator   the backend
=============  ====================================================================================
"""
