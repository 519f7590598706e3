import { Trans } from '@lingui/react/macro';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api } from '../../shared/api/request.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { useMay } from '../../shared/session/session.ts';
import { Card } from '../../shared/ui/card.tsx';
import { Loading, ProblemText } from '../../shared/ui/states.tsx';
import type { Node } from './definition.ts';
import styles from './segments.module.css';

interface Sampled {
  person: string;
  name: string;
  last: number;
}

/** How many people a definition selects now, and some of them. */
export function AudienceCard({ definition }: { definition: Node | undefined }) {
  const { count } = useFormat();
  const may = useMay();
  const asked = JSON.stringify(definition);
  const counted = useQuery({
    queryKey: ['audience', 'count', asked],
    enabled: definition !== undefined,
    staleTime: 60_000,
    retry: false,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      api<{ count: number }>('/v1/audiences/count', { method: 'POST', body: definition, signal }),
  });
  const sampled = useQuery({
    queryKey: ['audience', 'sample', asked],
    enabled: definition !== undefined && may('profile.read'),
    staleTime: 60_000,
    retry: false,
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      api<{ people: Sampled[] }>('/v1/audiences/sample', {
        ...{ method: 'POST' as const, body: definition, signal },
      }),
  });
  return (
    <Card title={<Trans>اکنون</Trans>}>
      {definition === undefined ? (
        <p className={styles['quiet']}>
          <Trans>شرطی بیفزایید تا ببینید چند نفر این‌گونه‌اند.</Trans>
        </p>
      ) : counted.error ? (
        <p role="alert" className={styles['problem']}>
          <ProblemText error={counted.error} />
        </p>
      ) : (
        <p className={styles['count']} aria-live="polite" aria-busy={counted.isFetching}>
          {counted.data ? <Trans>{count(counted.data.count)} نفر</Trans> : '…'}
        </p>
      )}
      {definition !== undefined && may('profile.read') && !sampled.error ? (
        sampled.data ? (
          <Sample people={sampled.data.people} />
        ) : (
          <Loading lines={3} />
        )
      ) : null}
    </Card>
  );
}

function Sample({ people }: { people: readonly Sampled[] }) {
  const { dateTime } = useFormat();
  if (people.length === 0) return null;
  return (
    <>
      <h3>
        <Trans>چند نفر از آنان</Trans>
      </h3>
      <ul className={styles['sample']}>
        {people.map(({ person, name, last }) => (
          <li key={person}>
            <Link to="/people/$id" params={{ id: person }}>
              <bdi>{name === '' ? person : name}</bdi>
            </Link>
            <span className={styles['quiet']}>{dateTime(last)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
