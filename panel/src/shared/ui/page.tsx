import { useEffect, useRef, type ReactNode } from 'react';
import { useLingui } from '@lingui/react/macro';
import { Loading } from './states.tsx';
import styles from './page.module.css';

/** Set by the first page of a visit: its heading does not get the focus, later ones do. */
let isFirst = true;

/**
 * Title, introduction and actions of a page. A page that was navigated to gets the focus on its
 * heading, so that screen readers announce it.
 */
export function Page({
  title,
  lead,
  actions,
  children,
}: {
  title: string;
  lead?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  const { t } = useLingui();
  const heading = useRef<HTMLHeadingElement>(null);
  const product = t`روند`;
  useEffect(() => {
    document.title = `${title} · ${product}`;
  }, [title, product]);
  useEffect(() => {
    if (!isFirst) heading.current?.focus({ preventScroll: true });
    isFirst = false;
  }, []);
  return (
    <div className={styles['page']}>
      <header className={styles['head']}>
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {lead ? <p className={styles['lead']}>{lead}</p> : null}
        </div>
        {actions ? <div className={styles['actions']}>{actions}</div> : null}
      </header>
      {/* Forms and results depend on the address and on data, which the build does not know. */}
      {import.meta.env.SSR ? <Loading lines={12} /> : children}
    </div>
  );
}
