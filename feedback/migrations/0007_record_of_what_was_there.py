"""What was decided before there was a keyed record is taken into it as it stands."""

from django.db import migrations

_AT_ONCE = 500


def adopt(apps, _schema):
    from feedback.requests import recorded
    from runs.chain import entries, keys
    from runs.engine import history

    run_model = apps.get_model("faber_runs", "Run")
    entry_model = apps.get_model("faber_runs", "AuditEntry")
    request_model = apps.get_model("faber_feedback", "FeedbackRequest")
    response_model = apps.get_model("faber_feedback", "FeedbackResponse")
    through = request_model.artifacts.through
    new = []

    def write(kind, run, at, **said):
        entry = entry_model(
            kind=kind, at=at, project=run.project.name, run_id=run.run_id, form=1,
            event_number=run.last_event_id, event_hash=run.last_event_hash,
            key=keys.key_name(), **said,
        )
        entry.code = entries.code_of(entry)
        new.append(entry)
        if len(new) >= _AT_ONCE:
            flush()

    def flush():
        entry_model.objects.bulk_create(new)
        new.clear()

    def shown_in(request):
        rows = through.objects.filter(feedbackrequest_id=request.pk)
        columns = ("artifact__path", "artifact__revision", "artifact__sha256")
        return sorted(tuple(row) for row in rows.values_list(*columns))

    for run in run_model.objects.select_related("project").order_by("pk").iterator(_AT_ONCE):
        run_model.objects.filter(pk=run.pk).update(head_code=history.head_code(run))
        digest = entries.run_digest(run, 1)
        write("run", run, run.created_at, who=run.started_by, what=f"started {run.workflow_id}", digest=digest)
    rows = request_model.objects.select_related("run__project").order_by("pk")
    for request in rows.iterator(_AT_ONCE):
        digest = recorded.question_digest(request, shown_in(request), 1)
        write("question", request.run, request.requested_at, request_id=request.request_id, what=request.type, digest=digest)
    rows = response_model.objects.select_related("request__run__project").order_by("pk")
    for response in rows.iterator(_AT_ONCE):
        request, by = response.request, response.provided_by
        about = {"request_id": request.request_id, "subject": f"response {response.pk}", "what": response.response}
        write(
            "decision", request.run, response.received_at, **about, comment=response.comment,
            who=str(by.get("user", ""))[:200], account=str(by.get("account", ""))[:200], channel=str(by.get("source", ""))[:30],
            digest=recorded.answer_digest(response, request.request_id, 1),
        )
        if response.state == "retracted":
            write("retraction", request.run, response.received_at, **about, reason="Taken back.")
    flush()


class Migration(migrations.Migration):

    dependencies = [
        ("faber_feedback", "0006_comments_and_imports"),
        ("faber_runs", "0009_audit_entries"),
    ]

    operations = [migrations.RunPython(adopt, migrations.RunPython.noop)]
