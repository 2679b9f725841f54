from datetime import timedelta

import django.db.models.deletion
import django.db.models.functions.datetime
import django.utils.timezone
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import migrations, models


def note_those_there_are(apps, schema_editor):
    """Who is signed in already must be able to see it and to end it."""
    people = set(apps.get_model('auth', 'User').objects.values_list('pk', flat=True))
    noted = apps.get_model('faber_runs', 'BrowserSession').objects
    lasts = timedelta(seconds=settings.SESSION_COOKIE_AGE)
    now = django.utils.timezone.now()
    for session in apps.get_model('sessions', 'Session').objects.filter(expire_date__gt=now):
        user = int(SessionStore().decode(session.session_data).get(SESSION_KEY, 0))
        if user in people:
            saved = session.expire_date - lasts
            noted.create(session=session, user_id=user, began_at=saved, last_seen_at=saved)


class Migration(migrations.Migration):

    dependencies = [
        ('faber_runs', '0009_audit_entries'),
        ('sessions', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='BrowserSession',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('began_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), default=django.utils.timezone.now)),
                ('last_seen_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), default=django.utils.timezone.now)),
                ('address', models.CharField(blank=True, db_default='', max_length=45)),
                ('agent', models.CharField(blank=True, db_default='', max_length=300)),
                ('session', models.OneToOneField(db_column='session_key', on_delete=django.db.models.deletion.CASCADE, related_name='+', to='sessions.session')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-last_seen_at', '-id'],
            },
        ),
        migrations.RunPython(note_those_there_are, migrations.RunPython.noop, elidable=True),
    ]
