import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../shared/api/request.ts';
import { useToday } from '../../shared/format/use-now.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { RangeField } from '../../shared/report/range-field.tsx';
import { requestRange, type RangeText } from '../../shared/report/range.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Card } from '../../shared/ui/card.tsx';
import { Dialog } from '../../shared/ui/dialog.tsx';
import { SelectField } from '../../shared/ui/field.tsx';
import { Form } from '../../shared/ui/form.tsx';
import { Icon } from '../../shared/ui/icon.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Empty, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { Table } from '../../shared/ui/table.tsx';
import { Tag, type TagTone } from '../../shared/ui/tag.tsx';

const KINDS = ['events', 'messages', 'profiles'] as const;
type Kind = (typeof KINDS)[number];

interface ExportJob {
  id: number;
  kind: Kind | 'segment';
  format: 'ndjson' | 'csv';
  status: string;
  created_at: string;
  expires_at?: string;
  rows?: number;
  bytes?: number;
  error?: string;
}

const TONES: Readonly<Record<string, TagTone>> = {
  queued: 'plain',
  running: 'accent',
  ready: 'success',
  failed: 'danger',
};

/** Exports: files of events, messages or profiles. */
export function ExportsPage() {
  const { t } = useLingui();
  const [isMaking, setMaking] = useState(false);
  const { data, error, refetch } = useQuery({
    queryKey: ['exports'],
    refetchInterval: 5000,
    queryFn: ({ signal }) => api<{ data: ExportJob[] }>('/v1/exports?limit=100', { signal }),
  });
  const add = (
    <Button kind="primary" onClick={() => setMaking(true)}>
      <Icon name="plus" />
      <Trans>خروجی تازه</Trans>
    </Button>
  );
  return (
    <Page
      title={t`خروجی‌ها`}
      lead={t`پروندهٔ رویدادها، پیام‌ها یا اشخاص؛ هر پرونده هفت روز می‌ماند.`}
      actions={add}
    >
      <Card title={<Trans>خروجی‌های حساب</Trans>}>
        {data ? (
          data.data.length === 0 ? (
            <Empty title={<Trans>هنوز خروجی نیست</Trans>} action={add} />
          ) : (
            <ExportTable jobs={data.data} />
          )
        ) : error ? (
          <ProblemState error={error} retry={() => void refetch()} />
        ) : (
          <Loading />
        )}
      </Card>
      {isMaking ? <NewExport onClose={() => setMaking(false)} /> : null}
    </Page>
  );
}

function useKindName(): (kind: ExportJob['kind']) => string {
  const { t } = useLingui();
  const names = {
    events: t`رویدادها`,
    messages: t`پیام‌ها`,
    profiles: t`اشخاص`,
    segment: t`سگمنت`,
  };
  return (kind) => names[kind];
}

function ExportTable({ jobs }: { jobs: readonly ExportJob[] }) {
  const { t } = useLingui();
  const { dateTime, count, bytes } = useFormat();
  const kindName = useKindName();
  const statuses: Readonly<Record<string, string>> = {
    queued: t`در صف`,
    running: t`در حال ساختن`,
    ready: t`آماده`,
    failed: t`ناموفق`,
    expired: t`منقضی`,
  };
  return (
    <Table
      label={t`خروجی‌ها`}
      rows={jobs}
      rowKey={({ id }) => id}
      columns={[
        {
          key: 'kind',
          header: <Trans>چه</Trans>,
          isRowHeader: true,
          cell: ({ kind, format }) => (
            <>
              {kindName(kind)} · <bdi>{format}</bdi>
            </>
          ),
        },
        {
          key: 'status',
          header: <Trans>وضعیت</Trans>,
          cell: ({ status, error }) => (
            <>
              <Tag tone={TONES[status] ?? 'plain'}>{statuses[status] ?? status}</Tag>{' '}
              {error ? <bdi>{error}</bdi> : null}
            </>
          ),
        },
        {
          key: 'created',
          header: <Trans>درخواست</Trans>,
          cell: ({ created_at }) => dateTime(Date.parse(created_at)),
        },
        {
          key: 'rows',
          header: <Trans>ردیف‌ها</Trans>,
          isNumber: true,
          cell: ({ rows }) => (rows === undefined ? '–' : count(rows)),
        },
        {
          key: 'bytes',
          header: <Trans>اندازه</Trans>,
          isNumber: true,
          cell: ({ bytes: size }) => (size === undefined ? '–' : bytes(size)),
        },
        {
          key: 'expires',
          header: <Trans>می‌ماند تا</Trans>,
          cell: ({ expires_at }) =>
            expires_at === undefined ? '–' : dateTime(Date.parse(expires_at)),
        },
      ]}
    />
  );
}

function NewExport({ onClose }: { onClose: () => void }) {
  const { t } = useLingui();
  const kindName = useKindName();
  const queryClient = useQueryClient();
  const today = useToday();
  const [kind, setKind] = useState<Kind>('events');
  const [format, setFormat] = useState<'ndjson' | 'csv'>('csv');
  const [range, setRange] = useState<RangeText>('30d');
  const make = useMutation({
    mutationFn: () =>
      api('/v1/exports', {
        method: 'POST',
        body: {
          ...{ kind, format },
          spec: kind === 'profiles' ? {} : requestRange(range, today),
        },
      }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ['exports'] });
      onClose();
    },
  });
  return (
    <Dialog title={<Trans>خروجی تازه</Trans>} onClose={onClose}>
      <Form
        action={<Trans>ساختن خروجی</Trans>}
        isBusy={make.isPending}
        error={make.error}
        onSubmit={() => make.mutate()}
        onCancel={onClose}
      >
        <SelectField
          label={<Trans>چه</Trans>}
          value={kind}
          choices={KINDS.map((value) => ({ value, label: kindName(value) }))}
          onChange={setKind}
        />
        <SelectField
          label={<Trans>قالب پرونده</Trans>}
          value={format}
          choices={[
            { value: 'csv', label: t`CSV، برای اکسل` },
            { value: 'ndjson', label: t`NDJSON، برای برنامه‌ها` },
          ]}
          onChange={setFormat}
        />
        {kind === 'profiles' ? null : <RangeField value={range} onChange={setRange} />}
      </Form>
    </Dialog>
  );
}
