import { Trans, useLingui } from '@lingui/react/macro';
import { Outlet, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { ReportTiles } from '../shared/report/report-tiles.ts';
import { Button } from '../shared/ui/button.tsx';
import { Icon } from '../shared/ui/icon.tsx';
import { Logo } from '../shared/ui/logo.tsx';
import { AccountMenu } from './account-menu.tsx';
import { MemberMenu } from './member-menu.tsx';
import { Navigation } from './navigation.tsx';
import { TILES } from './report-tiles.ts';
import styles from './shell.module.css';

/** What surrounds every page of members: navigation, account and member. */
export function Shell() {
  const { t } = useLingui();
  const drawer = useRef<HTMLDialogElement>(null);
  const pathname = useRouterState({ select: ({ location }) => location.pathname });
  useEffect(() => drawer.current?.close(), [pathname]);
  return (
    <div className={styles['shell']}>
      <a className={styles['skip']} href="#main">
        <Trans>رفتن به محتوای صفحه</Trans>
      </a>
      <header className={styles['top']}>
        <span className={styles['open']}>
          <Button
            kind="icon"
            aria-label={t`فهرست صفحه‌ها`}
            onClick={() => drawer.current?.showModal()}
          >
            <Icon name="menu" />
          </Button>
        </span>
        <span className={styles['logo']}>
          <Logo />
        </span>
        <AccountMenu />
        <span className={styles['space']} />
        <MemberMenu />
      </header>
      <aside className={styles['side']}>
        <Navigation label={t`صفحه‌ها`} />
      </aside>
      <dialog
        ref={drawer}
        className={styles['drawer']}
        aria-label={t`فهرست صفحه‌ها`}
        onClick={(event) => {
          if (event.target === drawer.current) drawer.current.close();
        }}
      >
        <div className={styles['drawerHead']}>
          <Logo />
          <Button kind="icon" aria-label={t`بستن`} onClick={() => drawer.current?.close()}>
            <Icon name="close" />
          </Button>
        </div>
        <Navigation label={t`صفحه‌ها`} />
      </dialog>
      <main id="main" tabIndex={-1} className={styles['main']}>
        <ReportTiles value={TILES}>
          <Outlet />
        </ReportTiles>
      </main>
    </div>
  );
}
