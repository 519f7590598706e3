import type { ReactNode } from 'react';
import styles from './bars.module.css';

interface Bar {
  key: string;
  label: ReactNode;
  /** As it is shown. */
  value: ReactNode;
  /** Part of the longest bar, 0 to 1. */
  share: number;
}

/** A ranking: text and numbers, with a bar below each. */
export function Bars({ bars }: { bars: readonly Bar[] }) {
  return (
    <ol className={styles['bars']}>
      {bars.map(({ key, label, value, share }) => (
        <li key={key} className={styles['bar']}>
          <span className={styles['label']}>{label}</span>
          <span className={styles['value']}>{value}</span>
          <span className={styles['track']} aria-hidden="true">
            <span
              className={styles['fill']}
              style={{ inlineSize: `${Math.max(0.5, share * 100)}%` }}
            />
          </span>
        </li>
      ))}
    </ol>
  );
}
