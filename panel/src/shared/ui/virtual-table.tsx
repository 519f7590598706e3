import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef } from 'react';
import type { Column } from './table.tsx';
import styles from './virtual-table.module.css';

const ROW_HEIGHT = 40;

interface Props<Row> {
  label: string;
  /** `width`: of CSS grid, such as `2fr` or `120px`. */
  columns: readonly (Column<Row> & { width: string })[];
  rows: readonly Row[];
  rowKey: (row: Row) => string | number;
  /** Least width of the table, px: it scrolls sideways below. */
  minWidth?: number;
}

/** A table of thousands of rows in a box of its own: only the rows in sight are rendered. */
export function VirtualTable<Row>({ label, columns, rows, rowKey, minWidth = 640 }: Props<Row>) {
  const box = useRef<HTMLDivElement>(null);
  // eslint-disable-next-line react-hooks/incompatible-library -- nothing is memoized here
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
    getItemKey: (at) => {
      const row = rows[at];
      return row === undefined ? at : rowKey(row);
    },
  });
  const template = {
    gridTemplateColumns: columns.map(({ width }) => `minmax(0, ${width})`).join(' '),
  };
  return (
    <div className={styles['box']} ref={box} role="group" aria-label={label} tabIndex={0}>
      <div
        role="table"
        aria-label={label}
        aria-rowcount={rows.length + 1}
        style={{ minInlineSize: minWidth }}
      >
        <div role="rowgroup" className={styles['head']}>
          <div role="row" aria-rowindex={1} className={styles['row']} style={template}>
            {columns.map(({ key, header, isNumber }) => (
              <div
                key={key}
                role="columnheader"
                className={isNumber ? styles['number'] : undefined}
              >
                {header}
              </div>
            ))}
          </div>
        </div>
        <div
          role="rowgroup"
          className={styles['body']}
          style={{ blockSize: virtual.getTotalSize() }}
        >
          {virtual.getVirtualItems().map(({ key, index, start }) => {
            const row = rows[index];
            if (row === undefined) return null;
            return (
              <div
                key={key}
                role="row"
                aria-rowindex={index + 2}
                className={`${styles['row']} ${styles['item']}`}
                style={{ ...template, transform: `translateY(${start}px)` }}
              >
                {columns.map(({ key: name, cell, isNumber }) => (
                  <div
                    key={name}
                    role="cell"
                    className={`${styles['cell']} ${isNumber ? styles['number'] : ''}`}
                  >
                    {cell(row)}
                  </div>
                ))}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}
