import { type FormEvent, useState } from 'react'
import type { SignInReply } from '../../../src/protocol/page-api.ts'
import { ask } from '../api/ask.ts'
import { pageKey } from '../api/page-key.ts'
import { Button } from '../components/button.tsx'
import { TextField } from '../components/field.tsx'
import { useTitle } from './use-title.ts'

/** The code of a sign-in link stands behind the #, which no browser sends and no log keeps. */
export function takeSignInCode(): string | undefined {
  const code = /^#sign-in=([\w-]{1,200})$/.exec(location.hash)?.[1]
  if (code !== undefined) history.replaceState(null, '', location.pathname + location.search)
  return code
}

export async function signIn(code: string): Promise<void> {
  const { page_key } = await ask<SignInReply>('/sign-in', { body: { code } })
  pageKey.keep(page_key)
}

export function SignIn({ problem, onSignedIn }: { problem: string | undefined; onSignedIn(): void }) {
  useTitle('Sign in')
  const [code, setCode] = useState('')
  const [error, setError] = useState<string>()
  const [isBusy, setIsBusy] = useState(false)

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault()
    setIsBusy(true)
    try {
      // A whole link is as good as the code in it.
      await signIn(code.trim().replace(/^.*#sign-in=/, ''))
      onSignedIn()
    } catch (cause) {
      setError(cause instanceof Error ? cause.message : String(cause))
    } finally {
      setIsBusy(false)
    }
  }

  return (
    <main className="flex min-h-full items-center justify-center p-6">
      <div className="w-full max-w-sm">
        <h1 className="text-2xl font-semibold tracking-tight">Familiar</h1>
        <p className="mt-2 text-soft">
          To sign in, open the link that <code className="font-mono text-sm">familiar sign-in</code> prints in a
          terminal on this machine. It works once, for a few minutes.
        </p>
        <form className="mt-6 space-y-3" onSubmit={(event) => void submit(event)}>
          <TextField
            label="Or paste the link or its code"
            autoComplete="off"
            autoFocus
            value={code}
            error={error ?? problem}
            onChange={(event) => setCode(event.target.value)}
          />
          <Button type="submit" kind="main" isBusy={isBusy} disabled={code.trim() === ''} className="w-full">
            Sign in
          </Button>
        </form>
      </div>
    </main>
  )
}
