import { useId, type ReactNode } from 'react';
import styles from './card.module.css';

/** A titled part of a page. */
export function Card({
  title,
  note,
  actions,
  children,
}: {
  title: ReactNode;
  /** A short fact about what is shown: its period, its freshness. */
  note?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  const id = useId();
  return (
    <section className={styles['card']} aria-labelledby={id}>
      <div className={styles['head']}>
        <h2 id={id}>{title}</h2>
        {note ? <span className={styles['note']}>{note}</span> : null}
        {actions}
      </div>
      {children}
    </section>
  );
}
