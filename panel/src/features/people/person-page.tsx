import { Trans, useLingui } from '@lingui/react/macro';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { api } from '../../shared/api/request.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { useMay } from '../../shared/session/session.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Card } from '../../shared/ui/card.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Empty, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { AddressesCard, MessagesCard, NamesCard, ProfileCard } from './person-cards.tsx';
import { OperatorCard } from './operator-card.tsx';
import type { Person, TimelinePage } from './person.ts';
import styles from './people.module.css';

const route = getRouteApi('/member/people/$id');

/** A person: names, traits, addresses, messages and everything they did. */
export function PersonPage() {
  const { t } = useLingui();
  const may = useMay();
  const { id } = route.useParams();
  const path = encodeURIComponent(id);
  const { data, error, refetch } = useQuery({
    queryKey: ['person', id],
    queryFn: ({ signal }) => api<Person>(`/v1/people/${path}`, { signal }),
  });
  return (
    <Page title={t`شخص`} lead={<bdi>{data?.person ?? id}</bdi>}>
      {error ? (
        <ProblemState error={error} retry={() => void refetch()} />
      ) : !data ? (
        <Loading lines={12} />
      ) : (
        <>
          <div className={styles['grid']}>
            <ProfileCard person={data} />
            <NamesCard person={data} />
            <AddressesCard addresses={data.addresses} />
            <MessagesCard messages={data.messages} />
          </div>
          {may('settings.write') ? <OperatorCard person={data} /> : null}
          <Timeline id={id} />
        </>
      )}
    </Page>
  );
}

function Timeline({ id }: { id: string }) {
  const { dateTime } = useFormat();
  const path = encodeURIComponent(id);
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery(
    {
      queryKey: ['timeline', id],
      initialPageParam: undefined as number | undefined,
      getNextPageParam: (last: TimelinePage) => last.next_before ?? undefined,
      queryFn: ({ signal, pageParam }) =>
        api<TimelinePage>(
          `/v1/people/${path}/events${pageParam === undefined ? '' : `?before=${pageParam}`}`,
          { signal },
        ),
    },
  );
  const events = data?.pages.flatMap((page) => page.events) ?? [];
  return (
    <Card title={<Trans>رویدادهای این شخص</Trans>}>
      {error ? (
        <ProblemState error={error} retry={() => void refetch()} />
      ) : !data ? (
        <Loading lines={8} />
      ) : events.length === 0 ? (
        <Empty title={<Trans>رویدادی نیست</Trans>} />
      ) : (
        <ol className={styles['timeline']}>
          {events.map((event) => (
            <li key={`${event.message_id} ${event.received_at}`} className={styles['event']}>
              <span className={styles['name']}>
                <bdi>{event.event === '' ? event.type : event.event}</bdi>
              </span>
              <span className={styles['when']}>{dateTime(Date.parse(event.timestamp))}</span>
              <span className={styles['properties']}>
                {Object.entries(event.properties).map(([name, value], at) => (
                  <span key={name}>
                    {at === 0 ? '' : ' · '}
                    <bdi>
                      {name}: {value}
                    </bdi>
                  </span>
                ))}
              </span>
            </li>
          ))}
        </ol>
      )}
      {hasNextPage ? (
        <Button isBusy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          <Trans>قدیمی‌ترها</Trans>
        </Button>
      ) : null}
    </Card>
  );
}
