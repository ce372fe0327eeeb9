"""How the server listens."""

import socket

from knotwork.service.running import _listen


def test_no_part_of_an_answer_waits_for_the_one_before_to_be_acknowledged():
    with (
        _listen("127.0.0.1", 0) as listening,
        socket.create_connection(listening.getsockname()) as asking,
    ):
        answering, _ = listening.accept()
        with answering:
            assert answering.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            assert asking.getpeername() == listening.getsockname()
