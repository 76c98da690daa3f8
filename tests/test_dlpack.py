"""Arrays exchanged with NumPy, PyTorch and CuPy through Python's DLPack protocol.

usage: test_dlpack.py PLUGIN

PLUGIN is tests/plugin.so, a shared object with the library in it. What is here is a binding as an
application would write it, with nothing but ctypes. Libraries that are missing are skipped.
"""
from __future__ import annotations

import ctypes
import importlib
import sys
import unittest
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_int64, c_uint64, c_void_p
from types import ModuleType
from typing import Any, Optional

CPU, CUDA = 1, 2
F32 = 11  # EK_F32
USED = {b"dltensor": b"used_dltensor", b"dltensor_versioned": b"used_dltensor_versioned"}


class Tensor(ctypes.Structure):
    """ek_array."""

    _fields_ = [
        ("data", c_void_p), ("device_type", c_int32), ("device_index", c_int32),
        ("ndim", c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class Taken(ctypes.Structure):
    """ek_dlpack."""

    _fields_ = [("array", Tensor), ("read_only", c_int), ("tensor", c_void_p), ("versioned", c_int)]


lib = ctypes.CDLL(sys.argv.pop(1) if len(sys.argv) > 1 else "tests/plugin.so")
lib.ek_error_message.restype = c_char_p
lib.ek_queue_stream.restype = c_void_p
lib.ek_queue_device.restype = c_void_p
lib.ek_device_name.restype = c_char_p
lib.ek_device_name.argtypes = [c_void_p]

api = ctypes.pythonapi
api.PyCapsule_New.restype = ctypes.py_object
api.PyCapsule_New.argtypes = [c_void_p, c_char_p, c_void_p]
api.PyCapsule_GetName.restype = c_char_p
api.PyCapsule_GetName.argtypes = [ctypes.py_object]
api.PyCapsule_GetPointer.restype = c_void_p
api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, c_char_p]


def call(name: str, *args: Any) -> None:
    if getattr(lib, name)(*args) != 0:
        raise RuntimeError(lib.ek_error_message().decode())


class Queue:
    def __init__(self, device: str) -> None:
        self.handle = c_void_p()
        opened = c_void_p()
        call("ek_device_open", device.encode(), byref(opened))
        call("ek_queue_open", opened, byref(self.handle))
        lib.ek_device_close(opened)
        self.type = CPU if device == "cpu" else CUDA

    def __del__(self) -> None:
        lib.ek_queue_close(self.handle)

    def stream(self) -> Optional[int]:
        """What __dlpack__ of a producer is told."""
        return lib.ek_queue_stream(self.handle) if self.type == CUDA else None

    def empty(self, shape: tuple[int, ...]) -> Array:
        array = Array(self)
        lengths = (c_int64 * len(shape))(*shape)
        call("ek_array_alloc", self.handle, F32, len(shape), lengths, byref(array.tensor))
        return array

    def take(self, producer: Any) -> View:
        """A view of what another library holds, once its work is done."""
        try:
            capsule = producer.__dlpack__(stream=self.stream(), max_version=(1, 0))
        except TypeError:
            capsule = producer.__dlpack__(stream=self.stream())
        return View(self, capsule)

    def add(self, x: Any, y: Any, out: Any) -> None:
        call("ek_add", self.handle, byref(x.tensor), byref(y.tensor), byref(out.tensor))


class View:
    def __init__(self, queue: Queue, capsule: Any) -> None:
        name = api.PyCapsule_GetName(capsule)
        pointer = c_void_p(api.PyCapsule_GetPointer(capsule, name))
        self.queue, self.taken = queue, Taken()
        versioned = name == b"dltensor_versioned"
        call("ek_dlpack_take" if versioned else "ek_dlpack_take_unversioned", pointer,
             byref(self.taken))
        api.PyCapsule_SetName(capsule, USED[name])

    @property
    def tensor(self) -> Tensor:
        return self.taken.array

    def release(self) -> None:
        call("ek_dlpack_release", self.queue.handle, byref(self.taken))

    def __del__(self) -> None:
        lib.ek_dlpack_release(None, byref(self.taken))


class Array:
    """An array of ours, until another library has it."""

    def __init__(self, queue: Queue) -> None:
        self.queue, self.tensor = queue, Tensor()

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.tensor.device_type, self.tensor.device_index

    def __dlpack__(self, stream: Optional[int] = None,
                   max_version: Optional[tuple[int, int]] = None, **_: Any) -> Any:
        if self.queue.type == CUDA and stream != -1:
            call("ek_queue_signal_stream", self.queue.handle, c_void_p(stream or None))
        versioned = max_version is not None and max_version[0] >= 1
        pointer = c_void_p()
        call("ek_dlpack_give" if versioned else "ek_dlpack_give_unversioned", self.queue.handle,
             byref(self.tensor), byref(pointer))
        name = b"dltensor_versioned" if versioned else b"dltensor"
        return api.PyCapsule_New(pointer, name, None)

    def __del__(self) -> None:
        lib.ek_array_free(self.queue.handle, byref(self.tensor))


def module(test: unittest.TestCase, name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError:
        test.skipTest(f"{name} is missing")


def cuda_module(test: unittest.TestCase, name: str) -> ModuleType:
    if lib.ek_device_count(CUDA) == 0:
        test.skipTest("no GPU")
    return module(test, name)


class OnTheCpu(unittest.TestCase):
    def test_numpy(self) -> None:
        np = module(self, "numpy")
        queue = Queue("cpu")
        a = np.arange(12, dtype=np.float32).reshape(3, 4)
        for x in (a, a.T, a[::-1, ::2], np.broadcast_to(a[0], (5, 4)).copy()):
            view, out = queue.take(x), queue.empty(x.shape)
            queue.add(view, view, out)
            self.assertTrue((np.from_dlpack(out) == x + x).all())
            self.assertIsNone(out.tensor.data)
            view.release()

    def test_numpy_is_written_to(self) -> None:
        np = module(self, "numpy")
        queue = Queue("cpu")
        a = np.ones(100, dtype=np.float32)
        references = sys.getrefcount(a)
        view = queue.take(a)
        self.assertGreater(sys.getrefcount(a), references)
        queue.add(view, view, view)
        view.release()
        self.assertTrue((a == 2).all())
        self.assertEqual(sys.getrefcount(a), references)

    def test_numpy_read_only(self) -> None:
        np = module(self, "numpy")
        if int(np.__version__.split(".")[0]) < 2:
            self.skipTest("NumPy 1 does not lend what is read-only")
        a, queue = np.ones(3, dtype=np.float32), Queue("cpu")
        for writeable in (True, False):
            a.flags.writeable = writeable
            view = queue.take(a)
            self.assertEqual(view.taken.read_only, not writeable)

    def test_torch(self) -> None:
        torch = module(self, "torch")
        queue = Queue("cpu")
        x = torch.arange(12, dtype=torch.float32).reshape(3, 4).t()
        out = queue.empty((4, 3))
        view = queue.take(x)
        queue.add(view, view, out)
        self.assertTrue(torch.equal(torch.from_dlpack(out), x + x))


class OnTheGpu(unittest.TestCase):
    """Long work before every exchange, on streams that nothing else orders."""

    N = 1 << 24

    def test_torch(self) -> None:
        torch = cuda_module(self, "torch")
        queue = Queue("cuda")
        for stream in (torch.cuda.default_stream(), torch.cuda.Stream()):
            with torch.cuda.stream(stream):
                for turn in range(5):
                    x = torch.zeros(self.N, device="cuda")
                    for _ in range(20):
                        x += 1
                    view, out = queue.take(x), queue.empty((self.N,))
                    for _ in range(20):
                        queue.add(view, view, out)
                    result = torch.from_dlpack(out) + turn
                    self.assertTrue(bool((result == 40 + turn).all()))
                    view.release()
                    del x, result

    def test_cupy(self) -> None:
        cupy = cuda_module(self, "cupy")
        queue = Queue("cuda")
        for stream in (cupy.cuda.Stream.null, cupy.cuda.Stream(non_blocking=True)):
            with stream:
                for turn in range(5):
                    x = cupy.zeros(self.N, dtype=cupy.float32)
                    for _ in range(20):
                        x += 1
                    view, out = queue.take(x), queue.empty((self.N,))
                    for _ in range(20):
                        queue.add(view, view, out)
                    result = cupy.from_dlpack(out) + turn
                    self.assertTrue(bool((result == 40 + turn).all()))
                    view.release()
                    del x, result


if __name__ == "__main__":
    ran = unittest.TextTestRunner(verbosity=2).run(
        unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__]))
    bad = len(ran.failures) + len(ran.errors)
    print(f"ek-counts: {ran.testsRun - bad - len(ran.skipped)} {bad} {len(ran.skipped)}")
    sys.exit(bad > 0)
