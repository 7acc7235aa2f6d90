// The rounds of a meeting over sockets as they nearly always go: every frame goes out, and what comes soon is what
// was hoped for. In Python the exceptions of a wait that has just begun take longer than the wait.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <deque>

#include "busy_threads.hpp"
#include "module.hpp"
#include "processor.hpp"

namespace nb = nanobind;

namespace {

constexpr Py_ssize_t kNumberBytes = 8;

// Bytes of a Python object, which can't move or change their length as long as they are held.
class Held {
  public:
    Held(nb::handle object, bool writable) {
        if (PyObject_GetBuffer(object.ptr(), &view_, writable ? PyBUF_WRITABLE : PyBUF_SIMPLE) != 0)
            throw nb::python_error();
    }
    ~Held() { PyBuffer_Release(&view_); }
    Held(const Held &) = delete;
    Held &operator=(const Held &) = delete;
    char *data() const { return static_cast<char *>(view_.buf); }
    Py_ssize_t bytes() const { return view_.len; }

  private:
    Py_buffer view_;
};

struct Copy {
    explicit Copy(nb::handle pair) : place(pair[0], true), source(pair[1], false) {}
    Held place, source;
};

struct Head {
    explicit Head(nb::handle pair) : head(pair[0], false), at(nb::cast<Py_ssize_t>(pair[1])) {}
    Held head;
    Py_ssize_t at;
};

struct Round {
    Round(int to, nb::handle frame, int source, nb::handle room, nb::handle hoped, Py_ssize_t expected)
        : to(to), source(source), frame(frame, true), room(room, true), hoped(hoped, true), expected(expected) {}
    const int to, source;
    const Held frame, room, hoped;
    const Py_ssize_t expected;
    std::deque<Copy> copies;
    std::deque<Head> heads;

    bool came_as_hoped() const {
        if (std::memcmp(room.data(), hoped.data(), static_cast<size_t>(hoped.bytes())) != 0) return false;
        for (const Head &head : heads)
            if (std::memcmp(room.data() + head.at, head.head.data(), static_cast<size_t>(head.head.bytes())) != 0)
                return false;
        return true;
    }
};

// How a rank waits for a moment: busy while every rank has a processor, or else giving way, which lets a rank on this
// processor come. Beside a process that always has work, who gives way is away for milliseconds.
class Waiting {
  public:
    explicit Waiting(bool crowded) : crowded_(crowded) {}

    void begin_meeting() { threads_.begin(); }

    // A wait begins: of *patience*, or beside busy threads for as long as the others may need to get their GILs back.
    void begin(uint64_t patience) {
        start_ = now_ns();
        sleeps_ = false;
        lends_ = !threads_.found() || !threads_.apart(start_);
        renew_ = until_ = start_ + (threads_.found() ? BusyThreads::kLend : patience);
    }

    // Lets time pass in a wait for *source*, and says whether to look again.
    bool pass(int source) {
        uint64_t now = now_ns();
        away_ns_ = 0;
        if (now >= renew_) {
            if (!hold(now)) return false;
            now = now_ns();
        }
        if (sleeps_ && crowded_) {
            // The busy threads of the others need a processor to find out that they are to hand over.
            pollfd one{source, POLLIN, 0};
            const uint64_t left = renew_ > now ? renew_ - now : 0;
            const timespec limit{0, static_cast<long>(left)};
            ppoll(&one, 1, &limit, nullptr);
            return true;
        }
        if (!crowded_ && !beside_ && now - start_ < kBusy) return true;
        sched_yield();
        away_ns_ = now_ns() - now;
        return true;
    }

    // What was waited for is here. If that took others to run here, but not for long, it is they who have sent it.
    void over() {
        if (crowded_) return;
        beside_ = away_ns_ > kSwitch && away_ns_ < kSlice;
        if (!beside_) return;
        const uint64_t now = now_ns();
        if (now - moved_ns_ < kMove) return;
        moved_ns_ = now;
        leave_processor();
    }

  private:
    static constexpr uint64_t kBusy = 10'000, kSwitch = 1'000, kSlice = 200'000, kMove = 10'000'000;

    // Lends the GIL, or sees to it that this rank keeps it; returns false when the wait is over.
    bool hold(uint64_t now) {
        if (lends_) {
            threads_.take_back(PyEval_SaveThread());
            lends_ = false;
            if (!threads_.found()) return false;
            until_ = now_ns() + BusyThreads::kHold;
        } else if (!sleeps_) {
            until_ = now + BusyThreads::kHold;
        } else if (now >= until_) {
            return false;
        } else {
            threads_.renew();
        }
        sleeps_ = true;
        renew_ = std::min(until_, threads_.renewal());
        return true;
    }

    const bool crowded_;
    bool beside_ = false;  // of the last wait: whoever it was for came to this processor
    bool lends_ = false, sleeps_ = false;
    uint64_t start_ = 0, until_ = 0, renew_ = 0;  // of this wait
    uint64_t away_ns_ = 0, moved_ns_ = 0;
    BusyThreads threads_;
};

// Sends the frame, unless it is out, then takes in what is expected while it comes soon. Errors are left for a later
// attempt to find, which has words for them.
void swap(const Round &round, uint64_t patience, Waiting &waiting, Py_ssize_t &sent, Py_ssize_t &came) {
    if (!sent)
        sent = send(round.to, round.frame.data(), static_cast<size_t>(round.frame.bytes()),
                    MSG_DONTWAIT | MSG_NOSIGNAL);
    bool waits = false;
    while (sent == round.frame.bytes() && came < round.expected) {
        const ssize_t just = recv(round.source, round.room.data() + came, static_cast<size_t>(round.expected - came),
                                  MSG_DONTWAIT);
        if (just > 0) {
            came += just;
        } else if (just < 0 && errno == EAGAIN) {
            if (!waits) waiting.begin(patience);
            waits = true;
            if (!waiting.pass(round.source)) return;
        } else {
            return;
        }
    }
    if (waits) waiting.over();
    if (sent < 0) sent = 0;
}

class Rounds {
  public:
    Rounds(Py_ssize_t number_at, Waiting &waiting) : number_at_(number_at), waiting_(waiting) {}
    Rounds(const Rounds &) = delete;
    Rounds &operator=(const Rounds &) = delete;

    void add(int to, nb::handle frame, int source, nb::handle room, nb::handle hoped, Py_ssize_t expected,
             nb::list copies, nb::list heads) {
        Round &round = rounds_.emplace_back(to, frame, source, room, hoped, expected);
        bool fits = expected <= round.room.bytes() && round.hoped.bytes() <= expected && number_at_ >= 0 &&
                    number_at_ + kNumberBytes <= round.hoped.bytes() &&
                    number_at_ + kNumberBytes <= round.frame.bytes();
        for (nb::handle copy : copies) {
            const Copy &made = round.copies.emplace_back(copy);
            fits = fits && made.place.bytes() == made.source.bytes();
        }
        for (nb::handle head : heads) {
            const Head &made = round.heads.emplace_back(head);
            fits = fits && made.at >= 0 && made.at + made.head.bytes() <= expected;
        }
        if (fits) return;
        rounds_.pop_back();
        throw nb::value_error("the parts of a round do not fit each other");
    }

    // The GIL is kept, or a busy thread would have it for milliseconds; where it is lent, the communicator is in use,
    // and so nobody closes a descriptor or moves what is held.
    nb::object meet(size_t first, uint64_t number, uint64_t patience) {
        if (first == 0) waiting_.begin_meeting();
        for (size_t at = first; at < rounds_.size(); ++at) {
            Round &round = rounds_[at];
            for (const Copy &copy : round.copies)
                std::memcpy(copy.place.data(), copy.source.data(), static_cast<size_t>(copy.source.bytes()));
            for (Py_ssize_t byte = 0; byte < kNumberBytes; ++byte)
                round.frame.data()[number_at_ + byte] = round.hoped.data()[number_at_ + byte] =
                    static_cast<char>(number >> (8 * byte));
            Py_ssize_t sent = 0, came = 0;
            if (round.to >= 0) swap(round, patience, waiting_, sent, came);
            if (sent != round.frame.bytes() || came != round.expected || !round.came_as_hoped())
                return nb::make_tuple(at, sent, came);
        }
        return nb::none();
    }

  private:
    const Py_ssize_t number_at_;
    Waiting &waiting_;
    std::deque<Round> rounds_;  // nothing in it can be moved
};

}  // namespace

void bind_tcp(nb::module_ &m) {
    nb::module_ sub = m.def_submodule("tcp", "What is short over sockets.");
    nb::class_<Waiting>(sub, "Waiting").def(nb::init<bool>(), nb::arg("crowded"));
    nb::class_<Rounds>(sub, "Rounds")
        .def(nb::init<Py_ssize_t, Waiting &>(), nb::arg("number_at"), nb::arg("waiting"), nb::keep_alive<1, 3>())
        .def("add", &Rounds::add, nb::arg("to"), nb::arg("frame"), nb::arg("source"), nb::arg("room"),
             nb::arg("hoped"), nb::arg("expected"), nb::arg("copies"), nb::arg("heads"))
        .def("meet", &Rounds::meet, nb::arg("first"), nb::arg("number"), nb::arg("patience_ns"));
}
