import { Trans } from '@lingui/react/macro';
import { scaleLinear } from 'd3-scale';
import { line } from 'd3-shape';
import { useState, type KeyboardEvent, type ReactNode } from 'react';
import { currentLanguage } from '../language/language.ts';
import { Table } from '../ui/table.tsx';
import { useWidth } from './use-width.ts';
import styles from './time-chart.module.css';

export interface Series {
  key: string;
  label: string;
  /** One for each label; null: no value. */
  values: readonly (number | null)[];
  /** Of the previous period: drawn thin and dashed. */
  isQuiet?: boolean;
}

interface Props {
  /** Says what is drawn, for screen readers. */
  label: string;
  series: readonly Series[];
  /** Of the points, oldest first. */
  labels: readonly string[];
  /** Header of the first column of the table. */
  unit: ReactNode;
  format: (value: number) => string;
  /** Points from here on are of a time that is not over. */
  incompleteFrom?: number | undefined;
  height?: number;
  kind?: 'lines' | 'bars';
}

const MARGIN = { top: 8, bottom: 24, axis: 52, end: 12 };
const SERIES_COLOURS = 6;

/**
 * Values over time. Time runs in the direction of the language; every value is in the table below,
 * too. Arrow keys move between the points.
 */
export function TimeChart(props: Props) {
  const { label, series, labels, unit, format, height = 220 } = props;
  const [box, width] = useWidth<HTMLDivElement>();
  return (
    <figure className={styles['figure']}>
      <div ref={box} style={{ blockSize: height }}>
        {width > 0 ? <Plot {...props} height={height} width={width} /> : null}
      </div>
      {series.length > 1 ? (
        <ul className={styles['legend']}>
          {series.map(({ key, label: text, isQuiet }, at) => (
            <li key={key}>
              <span className={isQuiet ? styles['dash'] : styles['dot']} style={colour(at)} />
              <bdi>{text}</bdi>
            </li>
          ))}
        </ul>
      ) : null}
      <details className={styles['details']}>
        <summary>
          <Trans>نمایش جدول</Trans>
        </summary>
        <Table
          label={label}
          rows={labels.map((text, at) => ({ text, at })).toReversed()}
          rowKey={({ at }) => at}
          columns={[
            { key: 'time', header: unit, cell: ({ text }) => text, isRowHeader: true },
            ...series.map(({ key, label: text, values }) => ({
              key,
              header: text,
              isNumber: true,
              cell: ({ at }: { at: number }) => shown(values[at], format),
            })),
          ]}
        />
      </details>
    </figure>
  );
}

function Plot({
  label,
  series,
  labels,
  format,
  incompleteFrom,
  height,
  width,
  kind = 'lines',
}: Props & { height: number; width: number }) {
  const [active, setActive] = useState<number>();
  const isRtl = currentLanguage() === 'fa';
  const highest = Math.max(0, ...series.flatMap(({ values }) => values.map((one) => one ?? 0)));
  const lowest = Math.min(0, ...series.flatMap(({ values }) => values.map((one) => one ?? 0)));
  const [start, end] = [MARGIN.axis, width - MARGIN.end];
  const y = scaleLinear(
    [lowest, highest > lowest ? highest : lowest + 1],
    [height - MARGIN.bottom, MARGIN.top],
  ).nice(4);
  const along = (at: number) => {
    const step = (end - start) / Math.max(1, kind === 'bars' ? labels.length : labels.length - 1);
    const place = start + (kind === 'bars' ? at + 0.5 : at) * step;
    return isRtl ? width - place : place;
  };
  const barWidth = Math.max(1, ((end - start) / Math.max(1, labels.length)) * 0.7);
  const move = (to: number) => setActive(Math.max(0, Math.min(labels.length - 1, to)));
  const onKeyDown = (event: KeyboardEvent) => {
    const forward = isRtl ? 'ArrowLeft' : 'ArrowRight';
    if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
    event.preventDefault();
    move((active ?? labels.length) + (event.key === forward ? 1 : -1));
  };
  const point = (clientX: number, element: Element) => {
    const inside = clientX - element.getBoundingClientRect().left;
    const place = isRtl ? width - inside : inside;
    const count = kind === 'bars' ? labels.length : labels.length - 1;
    const at = ((place - start) / (end - start)) * count - (kind === 'bars' ? 0.5 : 0);
    move(Math.round(at));
  };
  return (
    <div
      className={styles['plot']}
      role="application"
      aria-label={label}
      aria-describedby={undefined}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onBlur={() => setActive(undefined)}
      onPointerMove={(event) => point(event.clientX, event.currentTarget)}
      onPointerLeave={() => setActive(undefined)}
    >
      <svg width={width} height={height} aria-hidden="true" focusable="false">
        {y.ticks(4).map((tick) => (
          <g key={tick}>
            <line
              x1={isRtl ? MARGIN.end : start}
              x2={isRtl ? width - start : end}
              y1={y(tick)}
              y2={y(tick)}
              className={styles['grid']}
            />
            <text
              x={isRtl ? width - start + 8 : start - 8}
              y={y(tick)}
              dy="0.32em"
              textAnchor={isRtl ? 'start' : 'end'}
              className={styles['tick']}
              direction="ltr"
            >
              {format(tick)}
            </text>
          </g>
        ))}
        {axisPlaces(labels.length, width).map((at) => (
          <text
            key={at}
            x={along(at)}
            y={height - 6}
            textAnchor="middle"
            className={styles['tick']}
          >
            {labels[at]}
          </text>
        ))}
        {active === undefined ? null : (
          <line
            x1={along(active)}
            x2={along(active)}
            y1={MARGIN.top}
            y2={height - MARGIN.bottom}
            className={styles['cursor']}
          />
        )}
        {series.map(({ key, values, isQuiet }, index) =>
          kind === 'bars' ? (
            <g key={key} style={colour(index)} className={styles['bars']}>
              {values.map((value, at) =>
                value ? (
                  <rect
                    key={at}
                    x={along(at) - barWidth / 2}
                    y={y(value)}
                    width={barWidth}
                    height={Math.max(1, y(0) - y(value))}
                    rx={1}
                    className={
                      incompleteFrom !== undefined && at >= incompleteFrom
                        ? styles['incomplete']
                        : undefined
                    }
                  />
                ) : null,
              )}
            </g>
          ) : (
            <Line
              key={key}
              {...{ values, index, along, incompleteFrom }}
              y={(value) => y(value)}
              isQuiet={isQuiet === true}
            />
          ),
        )}
      </svg>
      {active === undefined ? null : (
        <div
          className={styles['tip']}
          role="status"
          style={
            along(active) > width / 2
              ? { right: width - along(active) + 8 }
              : { left: along(active) + 8 }
          }
        >
          <strong>{labels[active]}</strong>
          {series.map(({ key, label: text, values }, at) => (
            <span key={key} className={styles['tipLine']}>
              {series.length > 1 ? <span className={styles['dot']} style={colour(at)} /> : null}
              {series.length > 1 ? <bdi>{text}</bdi> : null} {shown(values[active], format)}
            </span>
          ))}
        </div>
      )}
    </div>
  );
}

interface LineProps {
  values: Series['values'];
  index: number;
  isQuiet: boolean;
  along: (at: number) => number;
  y: (value: number) => number;
  incompleteFrom: number | undefined;
}

function Line({ values, index, isQuiet, along, y, incompleteFrom = values.length }: LineProps) {
  const path = line<{ at: number; value: number | null }>()
    .defined(({ value }) => value !== null)
    .x(({ at }) => along(at))
    .y(({ value }) => y(value ?? 0));
  const points = values.map((value, at) => ({ at, value }));
  const whole = isQuiet ? values.length : incompleteFrom;
  return (
    <g style={colour(index)} className={isQuiet ? styles['quiet'] : styles['line']}>
      <path d={path(points.slice(0, whole)) ?? ''} />
      {whole < points.length ? (
        <path d={path(points.slice(Math.max(0, whole - 1))) ?? ''} className={styles['dashed']} />
      ) : null}
      {points.length === 1 && points[0]?.value ? (
        <circle cx={along(0)} cy={y(points[0].value)} r="3" />
      ) : null}
    </g>
  );
}

function colour(at: number) {
  return { color: `var(--series-${(at % SERIES_COLOURS) + 1})` };
}

function shown(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? '–' : format(value);
}

/** Where labels fit below the axis: at most one for each 90 px. */
function axisPlaces(count: number, width: number): number[] {
  const most = Math.max(2, Math.floor(width / 90));
  const step = Math.max(1, Math.ceil(count / most));
  return Array.from({ length: Math.ceil(count / step) }, (_, at) => at * step);
}
