import { type FormEvent, useState } from 'react'
import { call } from '../api/call.ts'
import { Button } from '../components/controls.tsx'
import { useToasts } from '../components/feedback.tsx'
import { TextField } from '../components/forms.tsx'
import { t } from '../strings/strings.ts'
import { ChoiceSetting, RestartNotice, SwitchSetting, TextSetting, useSettings } from './edit-settings.tsx'
import { PermissionList } from './permission-list.tsx'

/** Sections of the settings that the owner changes here. */

export function PermissionsTab() {
  const { editor, notice } = useSettings()
  const mode = String(editor?.valueOf('policy.mode') ?? '')
  return (
    <>
      {notice}
      {editor && (
        <div className="space-y-4">
          <ChoiceSetting
            editor={editor}
            name="policy.mode"
            label={t.options.mode}
            hint={t.options.modeHint[mode]}
            choices={[
              { value: 'strict', label: t.options.strict },
              { value: 'balanced', label: t.options.balanced },
              { value: 'trusting', label: t.options.trusting },
            ]}
          />
          <TextSetting isNumber editor={editor} name="policy.approval_minutes" label={t.options.approvalMinutes} />
          <ChoiceSetting
            editor={editor}
            name="capabilities.repair"
            label={t.options.repair}
            choices={[
              { value: 'ask', label: t.options.repairAsk },
              { value: 'auto', label: t.options.repairAuto },
              { value: 'off', label: t.options.repairOff },
            ]}
          />
          <SwitchSetting editor={editor} name="tools.enabled" label={t.options.useTools} />
        </div>
      )}
      <div className="mt-8">
        <PermissionList />
      </div>
    </>
  )
}

export function MemoryOptionsTab() {
  const { editor, notice } = useSettings()
  return (
    <>
      {notice}
      {editor && (
        <div className="space-y-4">
          <div>
            <SwitchSetting editor={editor} name="memory.conversations" label={t.options.conversations} />
            <SwitchSetting editor={editor} name="memory.extraction" label={t.options.extraction} />
          </div>
          <ChoiceSetting
            editor={editor}
            name="memory.embedding.provider"
            label={t.options.embedding}
            choices={[
              { value: 'local', label: t.options.embeddingLocal },
              { value: 'off', label: t.options.embeddingOff },
            ]}
          />
        </div>
      )}
    </>
  )
}

/** Of the daemon, for voice notes and the page. The voices of this browser are below it. */
export function RecognitionSetting() {
  const { editor, notice } = useSettings()
  return (
    <>
      {notice}
      {editor && (
        <ChoiceSetting
          editor={editor}
          name="voice.transcription.provider"
          label={t.options.voiceOfDaemon}
          choices={[
            { value: 'auto', label: t.options.voiceAuto },
            { value: 'local', label: t.options.voiceLocal },
            { value: 'off', label: t.options.voiceOff },
          ]}
        />
      )}
    </>
  )
}

export function AgentNameSetting() {
  const { editor, notice } = useSettings()
  return (
    <>
      {notice}
      {editor && <TextSetting editor={editor} name="agent.name" label={t.options.agentName} />}
    </>
  )
}

export function TelegramTab() {
  const toasts = useToasts()
  const { editor, notice, refresh } = useSettings()
  const [token, setToken] = useState('')
  const [ids, setIds] = useState<string>()
  const [isBusy, setIsBusy] = useState(false)
  const [restart, setRestart] = useState<readonly string[]>([])
  const stored = editor?.valueOf('telegram.allowed_ids')
  const text = ids ?? (Array.isArray(stored) ? stored.join(', ') : '')
  const parts = text.split(/[\s,]+/).filter(Boolean)
  const isNumbers = parts.every((part) => /^\d{1,15}$/.test(part))

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault()
    setIsBusy(true)
    try {
      const { ok, problem, restart_needed } = await call('setup.telegram', {
        ...(token.trim() !== '' && { token: token.trim() }),
        allowed_ids: parts.map(Number),
      })
      if (ok) toasts.done(t.options.saved)
      else toasts.failed(t.options.notSaved(problem ?? ''))
      setRestart(restart_needed)
      setToken('')
      setIds(undefined)
      refresh()
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
    }
  }

  return (
    <>
      {restart.length > 0 ? <RestartNotice names={restart} /> : notice}
      <p className="mb-4 max-w-xl text-soft">{t.options.telegramIntro}</p>
      <form className="max-w-sm space-y-3" onSubmit={(event) => void submit(event)}>
        <TextField
          label={t.options.botToken}
          type="password"
          autoComplete="off"
          spellCheck={false}
          hint={stored === undefined ? t.setup.keyHint : t.options.tokenStored}
          disabled={editor?.isDisabled ?? true}
          value={token}
          onChange={(event) => setToken(event.target.value)}
        />
        <TextField
          label={t.options.allowedIds}
          inputMode="numeric"
          hint={t.options.allowedIdsHint}
          error={isNumbers ? undefined : t.options.idsNumbers}
          disabled={editor?.isDisabled ?? true}
          value={text}
          onChange={(event) => setIds(event.target.value)}
        />
        <Button
          type="submit"
          kind="main"
          isBusy={isBusy}
          disabled={(editor?.isDisabled ?? true) || !isNumbers || (token.trim() === '' && stored === undefined)}
        >
          {t.common.save}
        </Button>
      </form>
      {stored !== undefined && editor && (
        <div className="mt-4">
          <SwitchSetting editor={editor} name="telegram.enabled" label={t.options.enabled} />
        </div>
      )}
    </>
  )
}
