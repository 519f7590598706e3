import { Trans } from '@lingui/react/macro';
import styles from './logo.module.css';

export function Logo() {
  return (
    <span className={styles['logo']}>
      <svg viewBox="0 0 32 32" width="32" height="32" aria-hidden="true" focusable="false">
        <rect width="32" height="32" rx="8" fill="#0b6e63" />
        <path
          d="M6 22 12.5 15l5 4.5L26 9.5"
          fill="none"
          stroke="#fff"
          strokeWidth="3"
          strokeLinecap="round"
          strokeLinejoin="round"
        />
        <circle cx="26" cy="9.5" r="2.6" fill="#fff" />
      </svg>
      <span>
        <Trans>روند</Trans>
      </span>
    </span>
  );
}
