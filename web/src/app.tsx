import { Direction } from 'radix-ui'
import { StrictMode, useCallback, useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { ApiError, call, onSignedOut, type Reply } from './api/call.ts'
import { ToastProvider } from './components/feedback.tsx'
import { NotRunning } from './offline/not-running.tsx'
import { removeWorker } from './offline/worker.ts'
import { lastWho, rememberWho, SignIn, signInWithCode, takeSignInCode, WhoContext } from './shell/account.tsx'
import { Shell } from './shell/shell.tsx'
import { startTheme } from './shell/theme.tsx'

type Access =
  | { kind: 'asking' }
  | { kind: 'in'; who: Reply<'signIn.who'> }
  | { kind: 'out'; problem?: string }
  | { kind: 'unreached' }

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
      const who = await call('signIn.who')
      rememberWho(who)
      setAccess({ kind: 'in', who })
    } catch (error) {
      const isOut = error instanceof ApiError && error.status === 401
      // While it is down, every attempt fails: the screen stays as it is.
      setAccess((now) => (isOut ? { kind: 'out' } : now.kind === 'unreached' ? now : { kind: 'unreached' }))
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

  useEffect(() => {
    if (access.kind === 'out') removeWorker().catch(() => undefined)
  }, [access.kind])

  const retry = useCallback(() => void look(), [look])
  switch (access.kind) {
    case 'asking':
      return null
    case 'unreached':
      return (
        <WhoContext value={lastWho()}>
          <NotRunning user={lastWho().name} onRetry={retry} />
        </WhoContext>
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
