"""A call is taken for the last one only while nothing about it has changed."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from pycobre.comm import ReduceOp
from pycobre.comm.remembered import Remembered, lasts


def reshaped(array):
    array.resize(3, refcheck=False)


def retyped(array):
    array.dtype = np.int64


def closed(array):
    array.flags.writeable = False


def test_the_same_arrays_and_arguments_are_the_same_call():
    send, recv = np.zeros(2), np.zeros(4)
    last = Remembered(lambda: None, send, recv, [2, 2], [0, 2])
    assert last.fits(send, recv, [2, 2], [0, 2])
    assert not last.fits(send, recv, [2, 2], [2, 0])
    assert not last.fits(send.copy(), recv, [2, 2], [0, 2])
    assert not last.fits(send, recv.copy(), [2, 2], [0, 2])
    assert not last.fits(send, recv, [2, 2])
    assert not Remembered(lambda: None, send, send, ReduceOp.SUM).fits(send, send, ReduceOp.MAX)


def test_arguments_of_another_type_are_another_call():
    send, recv = np.zeros(2), np.zeros(4)
    last = Remembered(lambda: None, send, recv, [2, 2], [0, 2])
    assert not last.fits(send, recv, (2, 2), [0, 2])
    assert not last.fits(send, recv, [2, 2], np.array([0, 2]))  # what == gives there is no answer


def test_what_is_remembered_goes_with_who_remembers_it():
    class Owner:
        def remember(self, array: np.ndarray) -> None:
            self.last = Remembered(lambda: self.remember(array), array, array)

    owner = Owner()
    owner.remember(np.zeros(2))
    found = weakref.ref(owner)
    del owner
    gc.collect()
    assert found() is None


@pytest.mark.parametrize("change", [reshaped, retyped, closed])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # NumPy's, of setting a dtype: it can be done
def test_arrays_of_another_form_are_another_call(change):
    send, recv = np.zeros(4), np.zeros(4)
    last = Remembered(lambda: None, send, recv, ReduceOp.SUM)
    change(recv)
    assert not last.fits(send, recv, ReduceOp.SUM)


def test_only_whole_vectors_are_remembered():
    whole = np.zeros((4, 4))
    assert lasts(np.zeros(4), np.zeros(2, bool))
    for array in (whole, whole[0], np.zeros(4).view(np.recarray), np.ma.masked_array([1.0])):
        assert not lasts(np.zeros(4), array)


def test_large_arrays_are_not_kept_alive():
    assert lasts(np.zeros(1 << 20, np.uint8))
    assert not lasts(np.zeros(4), np.empty((8 << 20) + 1, np.uint8))
