from django.db import migrations
from django_q.signing import BadSignature, SignedPackage

# Jobs that are queued when the site is upgraded, by the names they had before.
RENAMED = {
    "runs.tasks.beat": "runs.jobs.heartbeat.record",
    "runs.tasks.advance_run": "runs.worker.advance.advance_run",
    "runs.tasks.give_turns": "runs.engine.turns.give",
    "runs.tasks.tidy_worktree": "runs.workspaces.worktrees.tidy",
    "feedback.tasks.take_effect": "feedback.requests.answers.take_effect",
    "feedback.tasks.deliver": "feedback.channels.github.delivery.deliver",
    "feedback.tasks.call_back": "feedback.channels.callbacks.calls.call",
    "feedback.tasks.read_webhooks": "feedback.channels.github.webhook.read_new",
    "feedback.tasks.act_on": "feedback.channels.github.inbound.act_on",
    "feedback.tasks.poll": "feedback.channels.github.polling.poll",
    "feedback.tasks.tell_batch": "feedback.batches.comment.tell",
}


def rename(apps, schema_editor):
    jobs = apps.get_model("django_q", "OrmQ").objects.using(schema_editor.connection.alias)
    for row in jobs.all():
        try:
            job = SignedPackage.loads(row.payload)
        except BadSignature:
            continue  # signed with another key: no worker of this site would do it
        if job["func"] in RENAMED:
            job["func"] = RENAMED[job["func"]]
            jobs.filter(pk=row.pk).update(payload=SignedPackage.dumps(job))


class Migration(migrations.Migration):
    dependencies = [
        ("faber_runs", "0005_context_and_agents"),
        ("django_q", "0018_task_success_index"),
    ]

    operations = [migrations.RunPython(rename, migrations.RunPython.noop)]
