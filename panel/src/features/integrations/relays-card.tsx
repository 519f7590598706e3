import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api } from '../../shared/api/request.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { useMay } from '../../shared/session/session.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Card } from '../../shared/ui/card.tsx';
import { ConfirmDialog, Dialog } from '../../shared/ui/dialog.tsx';
import { Icon } from '../../shared/ui/icon.tsx';
import { Empty, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { Table } from '../../shared/ui/table.tsx';
import { Tag, type TagTone } from '../../shared/ui/tag.tsx';
import { deliveriesQuery, relaysQuery, type Delivery, type Relay } from './queries.ts';
import { RelayDialog } from './relay-dialog.tsx';

type Open =
  { kind: 'edit'; relay: Relay | undefined } | { kind: 'deliveries' | 'remove'; relay: Relay };

/** Relays, with what became of their deliveries. */
export function RelaysCard() {
  const { t } = useLingui();
  const may = useMay();
  const { data, error, refetch } = useQuery(relaysQuery);
  const [open, setOpen] = useState<Open>();
  const canWrite = may('settings.write');
  const close = () => setOpen(undefined);
  return (
    <Card
      title={<Trans>رله‌ها</Trans>}
      actions={
        canWrite ? (
          <Button kind="primary" onClick={() => setOpen({ kind: 'edit', relay: undefined })}>
            <Icon name="plus" />
            <Trans>رلهٔ تازه</Trans>
          </Button>
        ) : null
      }
    >
      {error ? (
        <ProblemState error={error} retry={() => void refetch()} />
      ) : !data ? (
        <Loading />
      ) : data.relays.length === 0 ? (
        <Empty title={<Trans>هنوز رله‌ای نیست</Trans>}>
          <Trans>هر رویداد پذیرفته‌شده به نشانی رله فرستاده می‌شود، با امضا و تلاش دوباره.</Trans>
        </Empty>
      ) : (
        <Table
          label={t`رله‌ها`}
          rows={data.relays}
          rowKey={({ id }) => id}
          columns={[
            {
              key: 'name',
              header: <Trans>نام</Trans>,
              isRowHeader: true,
              cell: ({ name }) => <bdi>{name}</bdi>,
            },
            { key: 'url', header: <Trans>نشانی</Trans>, cell: ({ url }) => <code>{url}</code> },
            {
              key: 'state',
              header: <Trans>وضعیت</Trans>,
              cell: ({ enabled, disabled_reason }) =>
                enabled ? (
                  <Tag tone="success">
                    <Trans>روشن</Trans>
                  </Tag>
                ) : (
                  <Tag tone={disabled_reason ? 'danger' : 'plain'}>
                    {disabled_reason ? (
                      <Trans>
                        خاموش شد: <bdi>{disabled_reason}</bdi>
                      </Trans>
                    ) : (
                      <Trans>خاموش</Trans>
                    )}
                  </Tag>
                ),
            },
            {
              key: 'actions',
              header: (
                <span className="visually-hidden">
                  <Trans>کارها</Trans>
                </span>
              ),
              cell: (relay) => (
                <>
                  <Button kind="quiet" onClick={() => setOpen({ kind: 'deliveries', relay })}>
                    <Trans>تحویل‌ها</Trans>
                  </Button>
                  {canWrite ? (
                    <>
                      <Button kind="quiet" onClick={() => setOpen({ kind: 'edit', relay })}>
                        <Trans>ویرایش</Trans>
                      </Button>
                      <Button kind="quiet" onClick={() => setOpen({ kind: 'remove', relay })}>
                        <Trans>حذف</Trans>
                      </Button>
                    </>
                  ) : null}
                </>
              ),
            },
          ]}
        />
      )}
      {open?.kind === 'edit' ? <RelayDialog relay={open.relay} onClose={close} /> : null}
      {open?.kind === 'deliveries' ? (
        <Deliveries relay={open.relay} canRetry={canWrite} onClose={close} />
      ) : null}
      {open?.kind === 'remove' ? <RemoveRelay relay={open.relay} onClose={close} /> : null}
    </Card>
  );
}

const TONES: Readonly<Record<Delivery['status'], TagTone>> = {
  pending: 'accent',
  succeeded: 'success',
  dead: 'danger',
};

function Deliveries({
  relay,
  canRetry,
  onClose,
}: {
  relay: Relay;
  canRetry: boolean;
  onClose: () => void;
}) {
  const { t } = useLingui();
  const { count, dateTime } = useFormat();
  const queryClient = useQueryClient();
  const { data, error, refetch } = useQuery(deliveriesQuery(relay.id));
  const retry = useMutation({
    mutationFn: () => api(`/v1/relays/${relay.id}/retry`, { method: 'POST' }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['relays', relay.id] }),
  });
  const names = { pending: t`در انتظار`, succeeded: t`رسید`, dead: t`نرسید` };
  const dead = data?.deliveries.filter(({ status }) => status === 'dead').length ?? 0;
  return (
    <Dialog
      title={
        <Trans>
          تحویل‌های <bdi>{relay.name}</bdi>
        </Trans>
      }
      onClose={onClose}
      actions={
        canRetry && dead > 0 ? (
          <Button kind="primary" isBusy={retry.isPending} onClick={() => retry.mutate()}>
            <Trans>تلاش دوباره برای نرسیده‌ها</Trans>
          </Button>
        ) : undefined
      }
    >
      {error ? (
        <ProblemState error={error} retry={() => void refetch()} />
      ) : !data ? (
        <Loading />
      ) : data.deliveries.length === 0 ? (
        <Empty title={<Trans>هنوز چیزی فرستاده نشده است</Trans>} />
      ) : (
        <Table
          label={t`تحویل‌ها`}
          rows={data.deliveries}
          rowKey={({ id }) => id}
          columns={[
            {
              key: 'event',
              header: <Trans>رویداد</Trans>,
              isRowHeader: true,
              cell: ({ event }) => <bdi>{event}</bdi>,
            },
            {
              key: 'status',
              header: <Trans>نتیجه</Trans>,
              cell: ({ status, response_status, error: problem }) => (
                <>
                  <Tag tone={TONES[status]}>{names[status]}</Tag>{' '}
                  <bdi>{response_status ?? problem ?? ''}</bdi>
                </>
              ),
            },
            {
              key: 'attempts',
              header: <Trans>تلاش‌ها</Trans>,
              isNumber: true,
              cell: ({ attempts }) => count(attempts),
            },
            {
              key: 'at',
              header: <Trans>زمان</Trans>,
              cell: ({ created_at }) => dateTime(Date.parse(created_at)),
            },
          ]}
        />
      )}
    </Dialog>
  );
}

function RemoveRelay({ relay, onClose }: { relay: Relay; onClose: () => void }) {
  const queryClient = useQueryClient();
  const remove = useMutation({
    mutationFn: () => api(`/v1/relays/${relay.id}`, { method: 'DELETE' }),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: ['relays'] });
      onClose();
    },
  });
  return (
    <ConfirmDialog
      title={<Trans>حذف رله</Trans>}
      action={<Trans>حذف رله</Trans>}
      name={relay.name}
      isBusy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      <Trans>تحویل‌هایی که در انتظارند هم پاک می‌شوند. این کار بازگشت ندارد.</Trans>
    </ConfirmDialog>
  );
}
