import { Trans, useLingui } from '@lingui/react/macro';
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../shared/api/request.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { useMay } from '../../shared/session/session.ts';
import { Card } from '../../shared/ui/card.tsx';
import { SelectField, TextField } from '../../shared/ui/field.tsx';
import { Form } from '../../shared/ui/form.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Banner, Empty, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { Table } from '../../shared/ui/table.tsx';
import { Tag } from '../../shared/ui/tag.tsx';
import styles from './settings-page.module.css';

type Name =
  | 'consent_default'
  | 'frequency_cap'
  | 'quiet_hours'
  | 'approval_required'
  | 'max_messages_per_second'
  | 'max_active_runs';
type Texts = Partial<Record<Name, string>>;

interface Sender {
  channel: string;
  provider: string;
  enabled: boolean;
  /** Empty: it works. */
  broken_reason: string;
  updated_at: string;
}

/** The answer of GET /v1/settings. */
interface Settings {
  messages: Texts;
  senders: Sender[];
  ip_allow: string[];
}

const settingsQuery = queryOptions({
  queryKey: ['settings'],
  queryFn: ({ signal }) => api<Settings>('/v1/settings', { signal }),
});

/** What the account decided: rules of its messages, senders, and from where members come. */
export function SettingsPage() {
  const { t } = useLingui();
  const may = useMay();
  const { data, error, refetch } = useQuery(settingsQuery);
  return (
    <Page title={t`تنظیمات حساب`} lead={t`این قاعده‌ها برای همهٔ کمپین‌ها و پیام‌های حساب‌اند.`}>
      {error ? (
        <ProblemState error={error} retry={() => void refetch()} />
      ) : !data ? (
        <Loading lines={10} />
      ) : (
        <>
          <Card title={<Trans>قاعده‌های پیام</Trans>}>
            <MessageForm texts={data.messages} canWrite={may('settings.write')} />
          </Card>
          <Card title={<Trans>فرستنده‌ها</Trans>}>
            <Senders senders={data.senders} />
          </Card>
          <Card title={<Trans>نشانی‌های مجاز شبکه</Trans>}>
            <p>
              {data.ip_allow.length === 0 ? (
                <Trans>اعضا و کلیدها از هر نشانی‌ای می‌توانند بیایند.</Trans>
              ) : (
                <code>{data.ip_allow.join(', ')}</code>
              )}
            </p>
          </Card>
        </>
      )}
    </Page>
  );
}

function MessageForm({ texts, canWrite }: { texts: Texts; canWrite: boolean }) {
  const { t } = useLingui();
  const queryClient = useQueryClient();
  const [draft, setDraft] = useState<Texts>(texts);
  const save = useMutation({
    mutationFn: () => api('/v1/settings/messages', { method: 'PUT', body: draft }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['settings'] }),
  });
  const set = (name: Name) => (text: string) => setDraft({ ...draft, [name]: text });
  const fields = (
    <>
      <SelectField
        label={<Trans>تأیید پیش از ارسال</Trans>}
        hint={<Trans>کمپین تنها پس از تأیید عضوی با مجوز تأیید فرستاده می‌شود.</Trans>}
        value={draft.approval_required === 'true' ? 'true' : ''}
        choices={[
          { value: '', label: t`لازم نیست` },
          { value: 'true', label: t`لازم است` },
        ]}
        disabled={!canWrite}
        onChange={set('approval_required')}
      />
      <SelectField
        label={<Trans>کسانی که چیزی نگفته‌اند</Trans>}
        value={draft.consent_default === 'deny' ? 'deny' : ''}
        choices={[
          { value: '', label: t`پیام بازاریابی می‌گیرند` },
          { value: 'deny', label: t`پیام بازاریابی نمی‌گیرند` },
        ]}
        disabled={!canWrite}
        onChange={set('consent_default')}
      />
      <TextField
        label={<Trans>ساعت‌های سکوت</Trans>}
        hint={<Trans>به وقت تهران، مثلاً 22:00-08:00؛ خالی: بدون سکوت.</Trans>}
        dir="ltr"
        placeholder="22:00-08:00"
        value={draft.quiet_hours ?? ''}
        disabled={!canWrite}
        onChange={(event) => set('quiet_hours')(event.target.value)}
      />
      <TextField
        label={<Trans>بیشترین شمار پیام برای هر شخص</Trans>}
        hint={<Trans>مثلاً 3/24 یعنی سه پیام در ۲۴ ساعت؛ و sms:1/48 تنها برای پیامک.</Trans>}
        dir="ltr"
        placeholder="3/24,sms:1/48"
        value={draft.frequency_cap ?? ''}
        disabled={!canWrite}
        onChange={(event) => set('frequency_cap')(event.target.value)}
      />
      <TextField
        label={<Trans>بیشترین پیام در ثانیه</Trans>}
        inputMode="numeric"
        dir="ltr"
        value={draft.max_messages_per_second ?? ''}
        disabled={!canWrite}
        onChange={(event) => set('max_messages_per_second')(event.target.value)}
      />
      <TextField
        label={<Trans>بیشترین کمپین هم‌زمان</Trans>}
        inputMode="numeric"
        dir="ltr"
        value={draft.max_active_runs ?? ''}
        disabled={!canWrite}
        onChange={(event) => set('max_active_runs')(event.target.value)}
      />
    </>
  );
  if (!canWrite) return <div className={styles['form']}>{fields}</div>;
  return (
    <div className={styles['form']}>
      {save.isSuccess ? (
        <Banner tone="success">
          <Trans>ذخیره شد و تا چند ثانیهٔ دیگر به کار می‌رود.</Trans>
        </Banner>
      ) : null}
      <Form
        action={<Trans>ذخیره</Trans>}
        isBusy={save.isPending}
        error={save.error}
        onSubmit={() => save.mutate()}
      >
        {fields}
      </Form>
    </div>
  );
}

function Senders({ senders }: { senders: readonly Sender[] }) {
  const { t } = useLingui();
  const { dateTime } = useFormat();
  if (senders.length === 0)
    return (
      <Empty title={<Trans>هنوز فرستنده‌ای نیست</Trans>}>
        <Trans>
          فرستنده و رازهای آن را مهندس شما با «admin channel» تنظیم می‌کند؛ رازها اینجا دیده
          نمی‌شوند.
        </Trans>
      </Empty>
    );
  return (
    <Table
      label={t`فرستنده‌ها`}
      rows={senders}
      rowKey={({ channel, provider }) => `${channel} ${provider}`}
      columns={[
        {
          key: 'channel',
          header: <Trans>کانال</Trans>,
          isRowHeader: true,
          cell: ({ channel }) => <bdi>{channel}</bdi>,
        },
        {
          key: 'provider',
          header: <Trans>فراهم‌کننده</Trans>,
          cell: ({ provider }) => <bdi>{provider}</bdi>,
        },
        {
          key: 'state',
          header: <Trans>وضعیت</Trans>,
          cell: ({ enabled, broken_reason }) =>
            broken_reason !== '' ? (
              <Tag tone="danger">
                <bdi>{broken_reason}</bdi>
              </Tag>
            ) : enabled ? (
              <Tag tone="success">
                <Trans>روشن</Trans>
              </Tag>
            ) : (
              <Tag>
                <Trans>خاموش</Trans>
              </Tag>
            ),
        },
        {
          key: 'at',
          header: <Trans>آخرین تغییر</Trans>,
          cell: ({ updated_at }) => dateTime(Date.parse(updated_at)),
        },
      ]}
    />
  );
}
