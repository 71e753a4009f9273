import { useState } from 'react'
import type { HookSecretReply } from '../../../../src/protocol/trigger-api.ts'
import { ask } from '../../api/ask.ts'
import { Button } from '../../components/button.tsx'
import { CommandLine } from '../../components/command-line.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { useToasts } from '../../components/toast.tsx'

/** A secret for whoever calls the webhook: made here, and shown once. */
export function HookSecret({ path }: { path: string }) {
  const toasts = useToasts()
  const [step, setStep] = useState<'asking' | HookSecretReply>()
  const made = typeof step === 'object' ? step : undefined

  async function make(): Promise<void> {
    try {
      setStep(await ask<HookSecretReply>(`${path}/hook`, { body: {} }))
    } catch (error) {
      toasts.failed(error)
    }
  }

  return (
    <div className="mb-5 flex flex-wrap items-center justify-between gap-3">
      <p className="text-sm text-soft">Callers of its webhook sign what they send with a secret.</p>
      <Button onClick={() => setStep('asking')}>Make a secret</Button>
      <Dialog
        isOpen={step !== undefined}
        onClose={() => setStep(undefined)}
        title={made ? 'Keep it now: it is shown this once' : 'Make a new secret?'}
      >
        {made ? (
          <div className="space-y-3 text-sm">
            <CommandLine command={made.secret} />
            <p className="text-soft">
              Callers send <code className="font-mono">POST {location.origin + made.path}</code> with{' '}
              <code className="font-mono">x-familiar-timestamp</code> (seconds since 1970),{' '}
              <code className="font-mono">x-familiar-nonce</code> (never twice the same) and{' '}
              <code className="font-mono">x-familiar-signature</code>: hex of HMAC-SHA256 over TIMESTAMP.NONCE.BODY with
              the secret.
            </p>
            <Button onClick={() => setStep(undefined)}>I have it</Button>
          </div>
        ) : (
          <div className="space-y-4">
            <p className="text-soft">One that was made before is no longer taken: its callers stop getting through.</p>
            <div className="flex gap-2">
              <Button kind="main" onClick={() => void make()}>
                Make it
              </Button>
              <Button onClick={() => setStep(undefined)}>Leave it</Button>
            </div>
          </div>
        )}
      </Dialog>
    </div>
  )
}
