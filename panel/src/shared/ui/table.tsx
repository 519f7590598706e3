import type { ReactNode } from 'react';
import styles from './table.module.css';

export interface Column<Row> {
  key: string;
  header: ReactNode;
  cell: (row: Row) => ReactNode;
  /** Numbers are aligned at the end, with digits of one width. */
  isNumber?: boolean;
  /** The cell names the row. */
  isRowHeader?: boolean;
}

interface Props<Row> {
  /** Names the table for screen readers. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string | number;
}

/** A table of some hundred rows at most; it scrolls sideways on its own where it is too wide. */
export function Table<Row>({ label, columns, rows, rowKey }: Props<Row>) {
  return (
    <div className={styles['scroll']} role="group" aria-label={label} tabIndex={0}>
      <table className={styles['table']}>
        <thead>
          <tr>
            {columns.map(({ key, header, isNumber }) => (
              <th key={key} scope="col" className={isNumber ? styles['number'] : undefined}>
                {header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)}>
              {columns.map((column) => (
                <Cell key={column.key} column={column} row={row} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell<Row>({ column, row }: { column: Column<Row>; row: Row }) {
  const className = column.isNumber ? styles['number'] : undefined;
  const content = column.cell(row);
  return column.isRowHeader ? (
    <th scope="row" className={className}>
      {content}
    </th>
  ) : (
    <td className={className}>{content}</td>
  );
}
