import { Trans } from '@lingui/react/macro';
import { useFormat } from '../../shared/format/use-format.ts';
import { PeopleLink } from '../../shared/report/people-link.tsx';
import type { CsvTable } from '../../shared/report/csv.ts';
import type { ReportMeta } from '../../shared/report/meta.tsx';
import { Empty } from '../../shared/ui/states.tsx';
import styles from './path-tree.module.css';

interface PathNode {
  event: string | null;
  other?: true;
  people: number;
  next: PathNode[];
}

/** The answer of POST /v1/reports/paths. */
export interface PathsAnswer {
  people: number;
  next: PathNode[];
  meta: ReportMeta;
}

/** The paths as a tree: what came next, most people first, and how many did nothing more. */
export function PathTree({
  answer,
  start,
  request,
}: {
  answer: PathsAnswer;
  start: string;
  request: object;
}) {
  const { count } = useFormat();
  const { people, next } = answer;
  if (people === 0)
    return (
      <Empty title={<Trans>در این بازه هیچ‌کس این رویداد را انجام نداده است</Trans>}>
        <Trans>بازهٔ بلندتری انتخاب کنید، یا رویداد دیگری.</Trans>
      </Empty>
    );
  return (
    <div className={styles['tree']}>
      <p className={styles['start']}>
        <bdi>{start}</bdi> ·{' '}
        <PeopleLink
          definition={{ paths: request, path: [] }}
          label={<Trans>{count(people)} نفر</Trans>}
        />
      </p>
      <Nodes nodes={next} of={people} whole={people} path={[]} request={request} />
    </div>
  );
}

function Nodes({
  nodes,
  of,
  whole,
  path,
  request,
}: {
  nodes: readonly PathNode[];
  of: number;
  whole: number;
  /** Names of the events that lead here. */
  path: readonly string[];
  request: object;
}) {
  const ended = of - nodes.reduce((sum, { people }) => sum + people, 0);
  if (nodes.length === 0) return null;
  return (
    <ol className={styles['nodes']}>
      {nodes.map((node) => (
        <li key={node.event ?? ''} className={styles['node']}>
          <Line
            people={node.people}
            whole={whole}
            behind={
              node.event === null ? undefined : { paths: request, path: [...path, node.event] }
            }
          >
            {node.other ? <Trans>دیگر رویدادها</Trans> : <bdi>{node.event}</bdi>}
          </Line>
          <Nodes
            nodes={node.next}
            of={node.people}
            whole={whole}
            path={[...path, node.event ?? '']}
            request={request}
          />
        </li>
      ))}
      {ended > 0 ? (
        <li className={styles['node']}>
          <Line people={ended} whole={whole} behind={{ paths: request, path, end: true }} isEnd>
            <Trans>رویداد دیگری نیست</Trans>
          </Line>
        </li>
      ) : null}
    </ol>
  );
}

function Line({
  people,
  whole,
  behind,
  isEnd = false,
  children,
}: {
  people: number;
  whole: number;
  /** Of the people; undefined: the others together. */
  behind: object | undefined;
  isEnd?: boolean;
  children: React.ReactNode;
}) {
  const { count, percent } = useFormat();
  return (
    <div className={`${styles['line']} ${isEnd ? styles['end'] : ''}`}>
      <span className={styles['name']}>{children}</span>
      <span className={styles['number']}>
        {behind ? <PeopleLink definition={behind} label={count(people)} /> : count(people)} ·{' '}
        {percent(people / whole)}
      </span>
      <span className={styles['track']} aria-hidden="true">
        <span className={styles['fill']} style={{ inlineSize: `${(people / whole) * 100}%` }} />
      </span>
    </div>
  );
}

export function pathsCsv({ next }: PathsAnswer): CsvTable {
  const rows: (string | number | null)[][] = [];
  const add = (nodes: readonly PathNode[], before: readonly string[]) => {
    for (const { event, people, next: more } of nodes) {
      const path = [...before, event ?? '(other)'];
      rows.push([path.length, path.join(' > '), people]);
      add(more, path);
    }
  };
  add(next, []);
  return { header: ['depth', 'path', 'people'], rows };
}
