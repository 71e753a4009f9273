import { useState } from 'react'
import type { BrowsersReply, SignOutReply } from '../../../src/protocol/page-api.ts'
import { ask } from '../api/ask.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Badge } from '../components/badge.tsx'
import { Button } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { Failure } from '../components/notice.tsx'
import { useToasts } from '../components/toast.tsx'
import { When } from '../components/when.tsx'
import { signOut } from '../shell/sign-out.ts'
import { browserWords } from './browser-words.ts'

/** The user's own browsers; each can be signed out from here, or all at once. */
export function BrowsersTab() {
  const toasts = useToasts()
  const { data, error, refresh } = useAnswer<BrowsersReply>('/browsers')
  const [isAsking, setIsAsking] = useState(false)

  async function end(browser: string): Promise<void> {
    try {
      const { ended } = await ask<SignOutReply>('/sign-out', { body: { browser } })
      toasts.done(ended > 0 ? 'Signed out.' : 'It was signed out already.')
    } catch (cause) {
      toasts.failed(cause)
    }
    refresh()
  }

  return (
    <>
      <p className="mb-4 max-w-2xl text-soft">
        These browsers are signed in as you. One that is not used for thirty days is signed out by itself.
      </p>
      {error && <Failure error={error} onRetry={refresh} />}
      <ul className="mb-4 divide-y divide-line rounded-xl border border-line bg-raised">
        {data?.browsers.map(({ id, name, seen_at, created_at, is_this }) => (
          <li key={id} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2.5">
            <span className="min-w-0 flex-1">
              <span className="flex flex-wrap items-center gap-2 font-medium" title={name}>
                {browserWords(name)}
                {is_this && <Badge kind="good">this one</Badge>}
              </span>
              <span className="block text-sm text-soft">
                used <When at={seen_at} />, signed in <When at={created_at} />
              </span>
            </span>
            <Button size="small" onClick={() => void (is_this ? signOut() : end(id)).catch(toasts.failed)}>
              Sign out
            </Button>
          </li>
        ))}
      </ul>
      <Button kind="danger" onClick={() => setIsAsking(true)}>
        Sign out everywhere
      </Button>
      <Dialog
        isOpen={isAsking}
        onClose={() => setIsAsking(false)}
        title="Sign out everywhere?"
        description="This browser, too. “familiar sign-in” in a terminal on the machine makes a new link."
      >
        <div className="flex justify-end gap-2">
          <Button onClick={() => setIsAsking(false)}>Stay</Button>
          <Button kind="danger" onClick={() => void signOut({ everywhere: true }).catch(toasts.failed)}>
            Sign out everywhere
          </Button>
        </div>
      </Dialog>
    </>
  )
}
