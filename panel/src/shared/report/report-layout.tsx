import type { ReactNode } from 'react';
import styles from './report-layout.module.css';

/** What is asked beside what is answered; below each other on a phone. */
export function ReportLayout({ form, result }: { form: ReactNode; result: ReactNode }) {
  return (
    <div className={styles['layout']}>
      <div className={styles['form']}>{form}</div>
      <div className={styles['result']}>{result}</div>
    </div>
  );
}
