"""What a request is called, which round it is, who made what it shows and for how much."""

from django.db import migrations, models
from django.db.models import Count, OuterRef, Subquery


def count_rounds(apps, _schema):
    """Of the requests that are there: as many as were answered before at the same place."""
    requests = apps.get_model("faber_feedback", "FeedbackRequest").objects
    same = {name: OuterRef(name) for name in ("run", "phase", "step", "gate")}
    before = requests.filter(**same, status="answered", pk__lt=OuterRef("pk")).order_by()
    counted = before.values("run").annotate(count=Count("pk")).values("count")
    later = requests.annotate(earlier=Subquery(counted)).filter(earlier__gt=0)
    for pk, earlier in later.values_list("pk", "earlier").iterator():
        requests.filter(pk=pk).update(round=earlier + 1)


class Migration(migrations.Migration):

    dependencies = [
        ("faber_feedback", "0009_words_kept"),
        ("faber_runs", "0015_titles"),
    ]

    operations = [
        migrations.AddField(
            model_name="feedbackrequest",
            name="own_title",
            field=models.CharField(blank=True, db_default="", default="", max_length=200),
        ),
        migrations.AddField(
            model_name="feedbackrequest",
            name="round",
            field=models.PositiveIntegerField(db_default=1, default=1),
        ),
        migrations.AddField(
            model_name="feedbackrequest",
            name="max_rounds",
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="feedbackrequest",
            name="agent",
            field=models.CharField(blank=True, db_default="", default="", max_length=100),
        ),
        migrations.AddField(
            model_name="feedbackrequest",
            name="cost_usd",
            field=models.FloatField(blank=True, null=True),
        ),
        migrations.RunPython(count_rounds, migrations.RunPython.noop),
    ]
