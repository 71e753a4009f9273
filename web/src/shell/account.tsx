import { createContext, type FormEvent, useContext, useState } from 'react'
import { call, pageKey, type Reply } from '../api/call.ts'
import { Button } from '../components/controls.tsx'
import { TextField } from '../components/forms.tsx'
import { Rich } from '../components/layout.tsx'
import { deleteWaiting } from '../offline/waiting-store.ts'
import { removeWorker } from '../offline/worker.ts'
import { t } from '../strings/strings.ts'
import { useTitle } from './router.tsx'

const nobody: Reply<'signIn.who'> = {
  name: '',
  is_owner: false,
  scope: 'read',
  agent_name: 'Familiar',
  version: '',
  command: 'familiar WORDS',
  may_configure: false,
}

const whoName = 'familiar.who'

/** For the screen that says that Familiar is not running: nothing of it is secret. */
export function rememberWho({ name, command, agent_name }: Reply<'signIn.who'>): void {
  localStorage.setItem(whoName, JSON.stringify({ name, command, agent_name }))
}

/** The user who was signed in here last. */
export function lastWho(): Reply<'signIn.who'> {
  try {
    const { name, command, agent_name } = JSON.parse(localStorage.getItem(whoName) ?? '{}') as Record<string, unknown>
    return {
      ...nobody,
      ...(typeof name === 'string' && { name }),
      ...(typeof command === 'string' && { command }),
      ...(typeof agent_name === 'string' && { agent_name }),
    }
  } catch {
    return nobody
  }
}

export const WhoContext = createContext<Reply<'signIn.who'>>(nobody)

/** The signed-in user. */
export const useWho = () => useContext(WhoContext)

/** The code of a sign-in link is after the #, which browsers do not send and no log keeps. */
export function takeSignInCode(): string | undefined {
  const code = /^#sign-in=([\w-]{1,200})$/.exec(location.hash)?.[1]
  if (code !== undefined) history.replaceState(null, '', location.pathname + location.search)
  return code
}

export async function signInWithCode(code: string): Promise<void> {
  const { page_key } = await call('signIn.signIn', { code })
  pageKey.keep(page_key)
}

export function SignIn({ problem, onSignedIn }: { problem: string | undefined; onSignedIn(): void }) {
  useTitle(t.shell.signIn)
  const [code, setCode] = useState('')
  const [error, setError] = useState<string>()
  const [isBusy, setIsBusy] = useState(false)

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault()
    setIsBusy(true)
    try {
      // A whole link is as good as the code in it.
      await signInWithCode(code.trim().replace(/^.*#sign-in=/, ''))
      onSignedIn()
    } catch (cause) {
      setError(cause instanceof Error ? cause.message : String(cause))
    } finally {
      setIsBusy(false)
    }
  }

  return (
    <main className="flex h-full items-center justify-center overflow-y-auto p-6">
      <div className="w-full max-w-sm">
        <h1 className="text-2xl font-semibold tracking-tight">Familiar</h1>
        <p className="mt-2 text-soft">
          <Rich text={t.shell.signInHelp} />
        </p>
        <form className="mt-6 space-y-3" onSubmit={(event) => void submit(event)}>
          <TextField
            label={t.shell.pasteLinkCode}
            autoComplete="off"
            autoFocus
            value={code}
            error={error ?? problem}
            onChange={(event) => setCode(event.target.value)}
          />
          <Button type="submit" kind="main" isBusy={isBusy} disabled={code.trim() === ''} className="w-full">
            {t.shell.signIn}
          </Button>
        </form>
      </div>
    </main>
  )
}

/** Ends this browser, or all of the user's. The next request is refused, which shows the way in again. */
export async function signOut(options: { everywhere?: boolean } = {}): Promise<void> {
  await call('signIn.signOut', options)
  pageKey.forget()
  localStorage.removeItem(whoName)
  // Drafts.
  sessionStorage.clear()
  await Promise.allSettled([removeWorker(), deleteWaiting()])
  location.assign('/')
}
