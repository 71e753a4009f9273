import { useEffect, useRef, useState } from 'react'
import type { VoiceReply } from '../../../src/protocol/voice-api.ts'
import { Button } from '../components/button.tsx'
import { daemonVoice } from './page-voice.ts'
import { changeVoiceSettings } from './voice-settings.ts'

/** Asked once, before anything is heard. */
export function EarsChoice({ onChosen, onCancel }: { onChosen(): void; onCancel(): void }) {
  const [daemon, setDaemon] = useState<VoiceReply['transcription']>()
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    heading.current?.focus()
    daemonVoice().then(
      ({ transcription }) => setDaemon(transcription),
      () => undefined,
    )
  }, [])

  function choose(ears: 'browser' | 'daemon'): void {
    changeVoiceSettings({ ears })
    onChosen()
  }

  return (
    <div className="rounded-2xl border border-line bg-raised p-4 shadow-sm">
      <h2 ref={heading} tabIndex={-1} className="font-semibold outline-none">
        How should your speech be understood?
      </h2>
      <ul className="mt-2 space-y-1 text-sm text-soft">
        <li>
          <strong className="text-ink">By the browser:</strong> quick, and nothing to install. Some browsers, Chrome
          among them, send what you say to their maker for it.
        </li>
        <li>
          <strong className="text-ink">By Familiar:</strong>{' '}
          {daemon?.by ? `what you say goes to the Familiar of this page, which has ${daemon.by} for it.` : daemon?.hint}
        </li>
      </ul>
      <div className="mt-3 flex flex-wrap gap-2">
        {daemon?.by && (
          <Button kind="main" onClick={() => choose('daemon')}>
            By Familiar
          </Button>
        )}
        <Button onClick={() => choose('browser')}>By the browser</Button>
        <Button kind="quiet" onClick={onCancel}>
          Not now
        </Button>
      </div>
      <p className="mt-2 text-xs text-soft">It can be changed in the voice settings.</p>
    </div>
  )
}
