import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { OperationKind } from '../../../../platform/operations/operation.ts';
import { api } from '../api/request.ts';
import { useFormat } from '../format/use-format.ts';
import { useMay } from '../session/session.ts';
import { Button } from '../ui/button.tsx';
import { Card } from '../ui/card.tsx';
import { Empty, Loading, ProblemState } from '../ui/states.tsx';
import { Table } from '../ui/table.tsx';
import { Tag, type TagTone } from '../ui/tag.tsx';
import { OperationWaits } from './operation-waits.tsx';
import { isOpen, operationsQuery, type Operation } from './operation.ts';

const TONES: Readonly<Record<Operation['state'], TagTone>> = {
  queued: 'plain',
  running: 'accent',
  succeeded: 'success',
  failed: 'danger',
  stopped: 'warning',
};

/** What members asked for, with its state; what runs can be stopped. */
export function OperationsCard({ kinds }: { kinds: readonly OperationKind[] }) {
  const { t } = useLingui();
  const { dateTime } = useFormat();
  const may = useMay();
  const queryClient = useQueryClient();
  const { data, error, refetch } = useQuery(operationsQuery);
  const stop = useMutation({
    mutationFn: (id: number) => api(`/v1/operations/${id}/stop`, { method: 'POST' }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['operations'] }),
  });
  const names: Readonly<Record<OperationKind, string>> = {
    'dead_letters.redrive': t`پردازش دوباره`,
    'dead_letters.discard': t`کنار گذاشتن`,
    'dead_letters.restore': t`بازگرداندن`,
    'person.erase': t`پاک کردن یک شخص`,
    'person.split': t`جدا کردن دو شناسه`,
    'person.rejoin': t`ادغام دوبارهٔ دو شناسه`,
    'log.replay': t`بازپخش رویدادها`,
    'projection.rebuild': t`بازسازی`,
  };
  const states = {
    queued: t`در نوبت`,
    waiting: t`منتظر`,
    running: t`در حال انجام`,
    succeeded: t`انجام شد`,
    failed: t`انجام نشد`,
    stopped: t`متوقف شد`,
  };
  const shown = data?.operations.filter(({ kind }) => kinds.includes(kind));
  return (
    <Card title={<Trans>کارهای خواسته‌شده</Trans>}>
      {error && !data ? (
        <ProblemState error={error} retry={() => void refetch()} />
      ) : !shown ? (
        <Loading />
      ) : shown.length === 0 ? (
        <Empty title={<Trans>هنوز کاری خواسته نشده است</Trans>} />
      ) : (
        <Table
          label={t`کارها`}
          rows={shown}
          rowKey={({ id }) => id}
          columns={[
            {
              key: 'kind',
              header: <Trans>کار</Trans>,
              isRowHeader: true,
              cell: ({ kind }) => names[kind],
            },
            {
              key: 'about',
              header: <Trans>دربارهٔ</Trans>,
              cell: ({ input }) => <bdi>{aboutOf(input)}</bdi>,
            },
            {
              key: 'state',
              header: <Trans>وضعیت</Trans>,
              cell: (operation) => (
                <>
                  <Tag tone={isWaiting(operation) ? 'warning' : TONES[operation.state]}>
                    {operation.stop_requested && operation.state === 'running'
                      ? t`در حال توقف`
                      : states[isWaiting(operation) ? 'waiting' : operation.state]}
                  </Tag>{' '}
                  <bdi>{operation.error}</bdi>
                  <OperationWaits operation={operation} />
                </>
              ),
            },
            {
              key: 'by',
              header: <Trans>از</Trans>,
              cell: ({ requested_by }) => <bdi>{requested_by ?? '–'}</bdi>,
            },
            {
              key: 'at',
              header: <Trans>زمان</Trans>,
              cell: ({ requested_at }) => dateTime(Date.parse(requested_at)),
            },
            {
              key: 'stop',
              header: (
                <span className="visually-hidden">
                  <Trans>توقف</Trans>
                </span>
              ),
              cell: (operation) =>
                mayStop(operation) && may('settings.write') ? (
                  <Button kind="quiet" onClick={() => stop.mutate(operation.id)}>
                    <Trans>توقف</Trans>
                  </Button>
                ) : null,
            },
          ]}
        />
      )}
    </Card>
  );
}

/** An erasure that has begun is carried out. */
function mayStop({ state, kind, stop_requested, started_at }: Operation): boolean {
  return !stop_requested && isOpen({ state }) && (kind !== 'person.erase' || started_at === null);
}

function isWaiting(operation: Operation): boolean {
  return isOpen(operation) && operation.waits.length > 0;
}

function aboutOf(input: Operation['input']): string {
  const { group, projection, step, topic } = input;
  return [group, projection, step, topic].filter((part) => typeof part === 'string').join(' · ');
}
