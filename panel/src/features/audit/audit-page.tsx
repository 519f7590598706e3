import { Trans, useLingui } from '@lingui/react/macro';
import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { api } from '../../shared/api/request.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Card } from '../../shared/ui/card.tsx';
import { SelectField } from '../../shared/ui/field.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Empty, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { Table } from '../../shared/ui/table.tsx';
import { useActionName } from './action-name.ts';
import { SUBJECTS, type Subject } from './search.ts';

interface AuditLine {
  id: number;
  at: string;
  actor: string;
  email: string | null;
  action: string;
  details: Record<string, unknown>;
}

interface AuditAnswer {
  lines: AuditLine[];
  next_before: number | null;
}

const route = getRouteApi('/member/settings/audit');

/** Who changed what, newest first. */
export function AuditPage() {
  const { t } = useLingui();
  const { about } = route.useSearch();
  const navigate = route.useNavigate();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    {
      queryKey: ['audit', about],
      initialPageParam: undefined as number | undefined,
      getNextPageParam: (last: AuditAnswer) => last.next_before ?? undefined,
      queryFn: ({ signal, pageParam }) => {
        const query = new URLSearchParams({
          ...(about ? { action: about } : {}),
          ...(pageParam === undefined ? {} : { before: String(pageParam) }),
        });
        return api<AuditAnswer>(`/v1/audit?${query.toString()}`, { signal });
      },
    },
  );
  const labels: Record<Subject, string> = {
    'write_key.': t`کلیدهای نوشتن`,
    'management_key.': t`کلیدهای مدیریت`,
    'member.': t`اعضا و ورودها`,
    'saved_report.': t`گزارش‌های ذخیره‌شده`,
    'segment.': t`سگمنت‌ها`,
    'campaign.': t`کمپین‌ها`,
    'relay.': t`رله‌ها`,
  };
  const lines = data?.pages.flatMap((page) => page.lines) ?? [];
  return (
    <Page
      title={t`گزارش تغییرات`}
      lead={t`هر تغییر در حساب، با زمان و کسی که آن را انجام داده است.`}
    >
      <Card
        title={<Trans>تغییرات</Trans>}
        actions={
          <SelectField
            label={t`دربارهٔ`}
            isLabelHidden
            value={about ?? 'all'}
            choices={[
              { value: 'all', label: t`همهٔ تغییرات` },
              ...SUBJECTS.map((value) => ({ value: value, label: labels[value] })),
            ]}
            onChange={(value) =>
              void navigate({ search: (value === 'all' ? {} : { about: value }) as never })
            }
          />
        }
      >
        {error ? (
          <ProblemState error={error} retry={() => void refetch()} />
        ) : !data ? (
          <Loading lines={10} />
        ) : lines.length === 0 ? (
          <Empty title={<Trans>تغییری ثبت نشده است</Trans>} />
        ) : (
          <AuditTable lines={lines} />
        )}
        {hasNextPage ? (
          <Button isBusy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            <Trans>قدیمی‌ترها</Trans>
          </Button>
        ) : null}
      </Card>
    </Page>
  );
}

function AuditTable({ lines }: { lines: readonly AuditLine[] }) {
  const { t } = useLingui();
  const { dateTime } = useFormat();
  const actionName = useActionName();
  return (
    <Table
      label={t`تغییرات`}
      rows={lines}
      rowKey={({ id }) => id}
      columns={[
        { key: 'at', header: <Trans>زمان</Trans>, cell: ({ at }) => dateTime(Date.parse(at)) },
        {
          key: 'actor',
          header: <Trans>انجام‌دهنده</Trans>,
          cell: ({ actor, email }) => <bdi>{email ?? actor}</bdi>,
        },
        {
          key: 'action',
          header: <Trans>کار</Trans>,
          isRowHeader: true,
          cell: ({ action }) => actionName(action),
        },
        {
          key: 'details',
          header: <Trans>جزئیات</Trans>,
          cell: ({ details }) => (
            <code>
              {Object.entries(details)
                .map(([name, value]) => `${name}: ${String(value)}`)
                .join(', ')}
            </code>
          ),
        },
      ]}
    />
  );
}
