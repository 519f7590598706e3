import type { ReactNode } from 'react';
import styles from './report-form.module.css';

/** The fields of a report below each other. */
export function ReportForm({ children }: { children: ReactNode }) {
  return <div className={styles['form']}>{children}</div>;
}
