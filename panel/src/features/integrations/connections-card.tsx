import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../shared/api/request.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { useMay } from '../../shared/session/session.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Card } from '../../shared/ui/card.tsx';
import { CodeBlock } from '../../shared/ui/code-block.tsx';
import { Dialog } from '../../shared/ui/dialog.tsx';
import { SelectField, TextField } from '../../shared/ui/field.tsx';
import { Form } from '../../shared/ui/form.tsx';
import { Icon } from '../../shared/ui/icon.tsx';
import { Empty, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { Table, type Column } from '../../shared/ui/table.tsx';
import { Tag } from '../../shared/ui/tag.tsx';
import { connectionsQuery, type Connection } from './queries.ts';

/** Webhook connections: their address, and whether events come. */
export function ConnectionsCard() {
  const may = useMay();
  const { data, error, refetch } = useQuery(connectionsQuery);
  const [isAdding, setAdding] = useState(false);
  const [shown, setShown] = useState<Connection>();
  const canWrite = may('settings.write');
  const add = canWrite ? (
    <Button kind="primary" onClick={() => setAdding(true)}>
      <Icon name="plus" />
      <Trans>وب‌هوک تازه</Trans>
    </Button>
  ) : null;
  return (
    <Card title={<Trans>وب‌هوک‌ها</Trans>} actions={add}>
      {error ? (
        <ProblemState error={error} retry={() => void refetch()} />
      ) : !data ? (
        <Loading />
      ) : data.integrations.length === 0 ? (
        <Empty title={<Trans>هنوز وب‌هوکی نیست</Trans>}>
          <Trans>با هر وب‌هوک نشانی‌ای می‌گیرید که در سکوی دیگر وارد می‌کنید.</Trans>
        </Empty>
      ) : (
        <ConnectionTable connections={data.integrations} onShow={setShown} canWrite={canWrite} />
      )}
      {isAdding ? <AddConnection onClose={() => setAdding(false)} /> : null}
      {shown ? <ConnectionDialog connection={shown} onClose={() => setShown(undefined)} /> : null}
    </Card>
  );
}

function ConnectionTable({
  connections,
  onShow,
  canWrite,
}: {
  connections: readonly Connection[];
  onShow: (connection: Connection) => void;
  canWrite: boolean;
}) {
  const { t } = useLingui();
  const { count } = useFormat();
  const queryClient = useQueryClient();
  const enable = useMutation({
    mutationFn: ({ source, enabled }: { source: string; enabled: boolean }) =>
      api(`/v1/integrations/${source}/enabled`, { method: 'POST', body: { enabled } }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['integrations'] }),
  });
  const columns: Column<Connection>[] = [
    {
      key: 'source',
      header: <Trans>سکو</Trans>,
      isRowHeader: true,
      cell: (one) => (
        <Button kind="quiet" onClick={() => onShow(one)}>
          {one.label === '' ? one.source_label : one.label}
        </Button>
      ),
    },
    {
      key: 'state',
      header: <Trans>وضعیت</Trans>,
      cell: (one) => <ConnectionState connection={one} />,
    },
    {
      key: 'received',
      header: <Trans>دریافت</Trans>,
      isNumber: true,
      cell: ({ received }) => count(received),
    },
    {
      key: 'accepted',
      header: <Trans>پذیرفته</Trans>,
      isNumber: true,
      cell: ({ accepted }) => count(accepted),
    },
    {
      key: 'rejected',
      header: <Trans>رد شده</Trans>,
      isNumber: true,
      cell: ({ rejected }) => count(rejected),
    },
    ...(canWrite
      ? [
          {
            key: 'enable',
            header: (
              <span className="visually-hidden">
                <Trans>کارها</Trans>
              </span>
            ),
            cell: ({ source, enabled }: Connection) => (
              <Button
                kind="quiet"
                disabled={enable.isPending}
                onClick={() => enable.mutate({ source, enabled: !enabled })}
              >
                {enabled ? <Trans>خاموش کردن</Trans> : <Trans>روشن کردن</Trans>}
              </Button>
            ),
          },
        ]
      : []),
  ];
  return (
    <Table label={t`وب‌هوک‌ها`} rows={connections} rowKey={({ id }) => id} columns={columns} />
  );
}

function ConnectionState({ connection }: { connection: Connection }) {
  const { enabled, healthy, last_error } = connection;
  if (!enabled)
    return (
      <Tag>
        <Trans>خاموش</Trans>
      </Tag>
    );
  if (last_error)
    return (
      <Tag tone="danger">
        <Trans>خطا</Trans>
      </Tag>
    );
  return healthy ? (
    <Tag tone="success">
      <Trans>سالم</Trans>
    </Tag>
  ) : (
    <Tag tone="warning">
      <Trans>در انتظار نخستین رویداد</Trans>
    </Tag>
  );
}

function ConnectionDialog({
  connection,
  onClose,
}: {
  connection: Connection;
  onClose: () => void;
}) {
  const { t } = useLingui();
  const { webhook_url, last_error } = connection;
  return (
    <Dialog title={connection.source_label} onClose={onClose}>
      {webhook_url === '' ? (
        <p>
          <Trans>نشانی عمومی سرور (EMAIL_TRACK_BASE) تنظیم نشده است.</Trans>
        </p>
      ) : (
        <CodeBlock label={t`نشانی وب‌هوک`} text={webhook_url} />
      )}
      {last_error ? (
        <p>
          <Trans>
            آخرین خطا: <bdi>{last_error}</bdi>
          </Trans>
        </p>
      ) : null}
    </Dialog>
  );
}

const SOURCES = [
  ...(['hosted_storefront', 'plugin_storefront', 'payment_gateway', 'retail_marketplace'] as const),
  ...(['handmade_marketplace', 'price_comparison', 'event_pipeline'] as const),
];

function AddConnection({ onClose }: { onClose: () => void }) {
  const { t } = useLingui();
  const queryClient = useQueryClient();
  const [source, setSource] = useState<(typeof SOURCES)[number]>('hosted_storefront');
  const [label, setLabel] = useState('');
  const [secret, setSecret] = useState('');
  const save = useMutation({
    mutationFn: () =>
      api<Connection>('/v1/integrations', { method: 'PUT', body: { source, label, secret } }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['integrations'] }),
  });
  const names = {
    retail_marketplace: t`بازارگاه خرده‌فروشی`,
    handmade_marketplace: t`بازارگاه صنایع دستی`,
    price_comparison: t`موتور مقایسهٔ قیمت`,
    payment_gateway: t`درگاه پرداخت`,
    hosted_storefront: t`فروشگاه‌ساز میزبانی‌شده`,
    plugin_storefront: t`افزونهٔ فروشگاهی`,
    event_pipeline: t`خط لولهٔ رویداد`,
  };
  if (save.data) return <ConnectionDialog connection={save.data} onClose={onClose} />;
  return (
    <Dialog title={<Trans>وب‌هوک تازه</Trans>} onClose={onClose}>
      <Form
        action={<Trans>ذخیره</Trans>}
        isBusy={save.isPending}
        error={save.error}
        onSubmit={() => save.mutate()}
        onCancel={onClose}
      >
        <SelectField
          label={<Trans>سکو</Trans>}
          value={source}
          choices={SOURCES.map((value) => ({ value, label: names[value] }))}
          onChange={setSource}
        />
        <TextField
          label={<Trans>نام دلخواه</Trans>}
          value={label}
          maxLength={100}
          onChange={(event) => setLabel(event.target.value)}
        />
        <TextField
          label={<Trans>راز امضا</Trans>}
          hint={<Trans>سکوی دیگر هر درخواست را با آن امضا می‌کند؛ خالی: بی‌تغییر.</Trans>}
          type="password"
          dir="ltr"
          autoComplete="off"
          value={secret}
          onChange={(event) => setSecret(event.target.value)}
        />
      </Form>
    </Dialog>
  );
}
