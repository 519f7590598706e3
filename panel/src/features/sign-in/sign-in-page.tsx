import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useRouter } from '@tanstack/react-router';
import { useEffect, type SubmitEvent } from 'react';
import { request } from '../../shared/api/request.ts';
import { Problem } from '../../shared/api/problem.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { LanguageSwitch } from '../../shared/language/language-switch.tsx';
import { sessionQuery, type Session } from '../../shared/session/session.ts';
import { Button } from '../../shared/ui/button.tsx';
import { TextField } from '../../shared/ui/field.tsx';
import { Logo } from '../../shared/ui/logo.tsx';
import { ProblemText } from '../../shared/ui/states.tsx';
import { useFormerField } from './use-former-field.ts';
import styles from './sign-in-page.module.css';

const route = getRouteApi('/sign-in');

/** Sign-in with e-mail address and password. */
export function SignInPage() {
  const { t } = useLingui();
  const router = useRouter();
  const queryClient = useQueryClient();
  const { next } = route.useSearch();
  const email = useFormerField('email');
  const password = useFormerField('password');
  const title = t`ورود به روند`;
  useEffect(() => {
    document.title = title;
  }, [title]);
  const signIn = useMutation({
    mutationFn: (body: { email: string; password: string }) =>
      request<Session>('/api/session', { method: 'POST', body }),
    onSuccess: async (session) => {
      queryClient.setQueryData(sessionQuery.queryKey, session);
      await router.navigate({ href: next ?? '/', replace: true });
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    signIn.mutate({ email: email.value, password: password.value });
  };
  return (
    <main className={styles['page']}>
      <div className={styles['bar']}>
        <LanguageSwitch />
      </div>
      <form className={styles['form']} onSubmit={submit}>
        <Logo />
        <h1>{title}</h1>
        <p className={styles['lead']}>
          <Trans>رویدادها، گزارش‌ها و پیام‌های کسب‌وکار شما در یک جا.</Trans>
        </p>
        <TextField
          label={<Trans>نشانی ایمیل</Trans>}
          type="email"
          name="email"
          dir="ltr"
          autoComplete="username"
          required
          value={email.value}
          onChange={(event) => email.setValue(event.target.value)}
        />
        <TextField
          label={<Trans>گذرواژه</Trans>}
          type="password"
          name="password"
          dir="ltr"
          autoComplete="current-password"
          required
          value={password.value}
          onChange={(event) => password.setValue(event.target.value)}
        />
        <div role="alert" className={styles['problem']}>
          {signIn.error ? <SignInProblem error={signIn.error} /> : null}
        </div>
        {/* Without the application the browser would send the password as part of an address. */}
        <Button
          kind="primary"
          type="submit"
          isBusy={signIn.isPending}
          disabled={import.meta.env.SSR}
        >
          {signIn.isPending ? <Trans>در حال ورود…</Trans> : <Trans>ورود</Trans>}
        </Button>
        <p className={styles['help']}>
          <Trans>
            گذرواژه را فراموش کرده‌اید؟ مدیر حساب می‌تواند گذرواژهٔ تازه‌ای برایتان بسازد.
          </Trans>
        </p>
      </form>
    </main>
  );
}

function SignInProblem({ error }: { error: unknown }) {
  const { duration } = useFormat();
  const facts = error instanceof Problem ? error.facts : undefined;
  switch (facts?.code) {
    case 'wrong_credentials':
      return <Trans>نشانی ایمیل یا گذرواژه درست نیست.</Trans>;
    case 'too_many_guesses':
      return (
        <Trans>
          چند بار پیاپی گذرواژهٔ نادرست وارد شده است؛ {duration(facts.retryAfter ?? 60)} دیگر دوباره
          تلاش کنید.
        </Trans>
      );
    case 'busy':
      return <Trans>افراد زیادی در حال ورود هستند؛ چند ثانیهٔ دیگر دوباره تلاش کنید.</Trans>;
    case 'no_account':
      return <Trans>شما عضو هیچ حساب فعالی نیستید؛ از مدیر حساب بخواهید شما را بیفزاید.</Trans>;
    case 'invalid_request':
      return <Trans>نشانی ایمیل و گذرواژه را کامل وارد کنید.</Trans>;
    default:
      return <ProblemText error={error} />;
  }
}
