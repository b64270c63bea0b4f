"""Results and remittances as the agency writes them, of rows that a test names."""

import csv
import io
import json

RESULTS = ("Claim Reference", "Payment Request Status", "Error Message", "Paid Total Amount", "Capped Price")
REMITTANCE = (
    *("PayeeBP", "Z4No", "FinYrs", "PayReqNum", "PayReqDocDate", "ProvClaimRef", "ItemID", "ItemQty"),
    *("UnitPrice", "AmountClaimed", "AmountPaid", "ParticipantBP", "ParticipantName", "SupportStartDate"),
    *("SupportEndDate", "ServiceBookingNum", "BulkClmId", "ClaimType", "CancelRsn"),
)
#: Members of the agency's notification by the columns of its file.
OF_NOTIFICATION = {
    "Claim Reference": "invoice_number",
    "Payment Request Status": "claim_status",
    "Error Message": "reject_reason_code",
    "Paid Total Amount": "amount",
}


def a_result(reference, status="SUCCESSFUL", text="", amount="", capped=""):
    return dict(zip(RESULTS, (reference, status, text, str(amount), capped), strict=True))


def a_payment(reference, amount, number="400000001", day="20261120", **columns):
    return {
        **dict.fromkeys(REMITTANCE, ""),
        "PayReqNum": number,
        "PayReqDocDate": day,
        "ProvClaimRef": reference,
        "AmountPaid": str(amount),
        "ParticipantBP": "430000001",
        "ParticipantName": "A PARTICIPANT",
        **columns,
    }


def as_csv(path, rows, header=None, quoting=csv.QUOTE_MINIMAL, mark="", end="\r\n"):
    """The rows as a file; the header is that of the first of them unless another is given."""
    header = header or list(rows[0])
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, header, extrasaction="ignore", quoting=quoting, lineterminator=end)
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(mark + text.getvalue(), encoding="utf-8", newline="")
    return path


def as_results_notification(path, rows):
    response = [{OF_NOTIFICATION.get(name, name): cell for name, cell in row.items()} for row in rows]
    path.write_text(json.dumps({"event_id": "BULK_PROCESS_FINISH", "response": response}))
    return path


def as_remittance_notification(path, rows):
    advice = [{name.lower(): cell for name, cell in row.items()} for row in rows]
    content = {"event_id": "REMIT_ADV_GENERATED", "response": {"remittance_advice": advice}}
    path.write_text(json.dumps(content))
    return path
