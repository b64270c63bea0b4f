"""The bank's file of payments that came back."""


def returns_of(run, reason="3", day=None):
    """The file that says that every payment of a released run came back; of the day, or of another one."""
    lines = [line for file in run.bank_files.all() for line in bytes(file.content).split(b"\r\n")]
    return b"".join(as_returned(line, reason, day) for line in lines if line[:1] == b"1")


def as_returned(line, reason="3", day=None):
    """The record of a payment that came back, by its line in the bank file."""
    paid_on = b"24" if day is None else f"{day:%d}".encode()
    return b"2" + line[1:17] + reason.encode() + line[18:112] + paid_on + b"301500\r\n"
