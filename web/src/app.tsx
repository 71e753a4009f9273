import { Direction } from 'radix-ui'
import { StrictMode, useCallback, useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { ApiError, call, onSignedOut, type Reply } from './api/call.ts'
import { Failure, ToastProvider } from './components/feedback.tsx'
import { SignIn, signInWithCode, takeSignInCode, WhoContext } from './shell/account.tsx'
import { Shell } from './shell/shell.tsx'
import { startTheme } from './shell/theme.tsx'

type Access =
  | { kind: 'asking' }
  | { kind: 'in'; who: Reply<'signIn.who'> }
  | { kind: 'out'; problem?: string }
  | { kind: 'unreached'; error: Error }

export function startApp(): void {
  startTheme()
  const root = document.getElementById('root')
  if (root)
    // ScreenBoundary shows errors of a screen.
    createRoot(root, { onCaughtError: (error) => console.warn(error) }).render(
      <StrictMode>
        <Direction.Provider dir={document.documentElement.dir === 'rtl' ? 'rtl' : 'ltr'}>
          <App />
        </Direction.Provider>
      </StrictMode>,
    )
}

function App() {
  const [access, setAccess] = useState<Access>({ kind: 'asking' })

  const look = useCallback(async () => {
    try {
      setAccess({ kind: 'in', who: await call('signIn.who') })
    } catch (error) {
      setAccess(error instanceof ApiError && error.status === 401 ? { kind: 'out' } : unreached(error))
    }
  }, [])

  useEffect(() => {
    const code = takeSignInCode()
    if (code === undefined) void look()
    else
      signInWithCode(code).then(look, async (error: Error) => {
        // An old link in a browser that is signed in anyway is no reason to stop.
        await look()
        setAccess((now) => (now.kind === 'out' ? { kind: 'out', problem: error.message } : now))
      })
    return onSignedOut(() => setAccess((now) => (now.kind === 'in' ? { kind: 'out' } : now)))
  }, [look])

  switch (access.kind) {
    case 'asking':
      return null
    case 'unreached':
      return (
        <main className="mx-auto max-w-md p-8">
          <Failure error={access.error} onRetry={() => void look()} />
        </main>
      )
    case 'out':
      return <SignIn problem={access.problem} onSignedIn={() => void look()} />
    case 'in':
      return (
        <WhoContext value={access.who}>
          <ToastProvider>
            <Shell />
          </ToastProvider>
        </WhoContext>
      )
  }
}

function unreached(error: unknown): Access {
  return { kind: 'unreached', error: error instanceof Error ? error : new Error(String(error)) }
}
