import type { ReactNode } from 'react';
import styles from './figure.module.css';

/** A number with what it counts. */
export function Figure({
  label,
  value,
  note,
  tone,
}: {
  label: ReactNode;
  value: ReactNode;
  note?: ReactNode;
  tone?: 'success' | 'warning' | 'danger';
}) {
  return (
    <div className={styles['figure']}>
      <dt className={styles['label']}>{label}</dt>
      <dd className={`${styles['value']} ${tone ? styles[tone] : ''}`}>{value}</dd>
      {note ? <dd className={styles['note']}>{note}</dd> : null}
    </div>
  );
}

export function Figures({ children }: { children: ReactNode }) {
  return <dl className={styles['figures']}>{children}</dl>;
}
