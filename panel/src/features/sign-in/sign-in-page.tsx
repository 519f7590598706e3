import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useRouter } from '@tanstack/react-router';
import { useEffect, useState, type SubmitEvent } from 'react';
import { request } from '../../shared/api/request.ts';
import { Problem } from '../../shared/api/problem.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { LanguageSwitch } from '../../shared/language/language-switch.tsx';
import { sessionQuery, type Session } from '../../shared/session/session.ts';
import { Button } from '../../shared/ui/button.tsx';
import { TextField } from '../../shared/ui/field.tsx';
import { Logo } from '../../shared/ui/logo.tsx';
import { ProblemText } from '../../shared/ui/states.tsx';
import styles from './sign-in-page.module.css';

const route = getRouteApi('/sign-in');

/** Sign-in with e-mail address and password. */
export function SignInPage() {
  const { t } = useLingui();
  const router = useRouter();
  const queryClient = useQueryClient();
  const { next } = route.useSearch();
  const [email, setEmail] = useState(() => typed('email'));
  const [password, setPassword] = useState(() => typed('password'));
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
    signIn.mutate({ email, password });
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
          autoFocus={hasFocus('email')}
          dir="ltr"
          autoComplete="username"
          required
          value={email}
          onChange={(event) => setEmail(event.target.value)}
        />
        <TextField
          label={<Trans>گذرواژه</Trans>}
          type="password"
          name="password"
          autoFocus={hasFocus('password')}
          dir="ltr"
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.target.value)}
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

/** What was typed into the page of the document before the application came. */
function typed(name: string): string {
  return fieldOfDocument(name)?.value ?? '';
}

function hasFocus(name: string): boolean {
  const field = fieldOfDocument(name);
  return field !== undefined && document.activeElement === field;
}

function fieldOfDocument(name: string): HTMLInputElement | undefined {
  if (import.meta.env.SSR) return undefined;
  return document.querySelector<HTMLInputElement>(`input[name="${name}"]`) ?? undefined;
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
