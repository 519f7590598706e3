import type { ReactNode } from 'react';
import styles from './tag.module.css';

export type TagTone = 'plain' | 'success' | 'warning' | 'danger' | 'accent';

/** The state of something in one or two words. */
export function Tag({ tone = 'plain', children }: { tone?: TagTone; children: ReactNode }) {
  return <span className={`${styles['tag']} ${styles[tone]}`}>{children}</span>;
}
