import { type FormEvent, type ReactNode, useCallback, useEffect, useState } from 'react'
import type { Setting } from '../../../src/protocol/status.ts'
import { call, type Input, useAnswer } from '../api/call.ts'
import { Button, CommandLine } from '../components/controls.tsx'
import { Failure, Notice, useToasts } from '../components/feedback.tsx'
import { type Choice, SelectField, TextField } from '../components/forms.tsx'
import { Section } from '../components/layout.tsx'
import { refreshConnection } from '../models/connection.ts'
import { useWho } from '../shell/account.tsx'
import { usePlace } from '../shell/router.tsx'
import { formatList } from '../strings/format.ts'
import { t } from '../strings/strings.ts'

/** Settings in the page: each field is saved by itself, and says if Familiar must be restarted. */

type Value = Input<'setup.change'>['value']

export interface Editor {
  /** The value as it is in the files; undefined if it is hidden or missing. */
  valueOf(key: string): unknown
  /** Whether something other than `familiar.toml` decides. */
  overriddenBy(key: string): string | undefined
  save(key: string, value: Value): Promise<boolean>
  isDisabled: boolean
}

/** The settings with the means to change them. Null until they are loaded, and after an error, which `notice` shows. */
export function useSettings(onChanged?: () => void): { editor: Editor | null; notice: ReactNode; refresh(): void } {
  const toasts = useToasts()
  const { may_configure } = useWho()
  const { data, error, refresh } = useAnswer('home.settings', {})
  const [restart, setRestart] = useState<readonly string[]>()
  const restartNeeded = restart ?? data?.restart_needed ?? []

  const save = useCallback(
    async (key: string, value: Value) => {
      try {
        const { ok, problem, restart_needed } = await call('setup.change', { key, value })
        if (ok) toasts.done(t.options.saved)
        else toasts.failed(t.options.notSaved(problem ?? ''))
        setRestart(restart_needed)
        refresh()
        onChanged?.()
        if (key.startsWith('routes.')) await refreshConnection()
        return ok
      } catch (cause) {
        toasts.failed(cause)
        return false
      }
    },
    [toasts, refresh, onChanged],
  )

  useWantedSetting(data !== undefined)

  const find = (key: string): Setting | undefined => data?.settings.find((setting) => setting.key === key)
  const notice = (
    <>
      {error && <Failure error={error} onRetry={refresh} />}
      {restartNeeded.length > 0 && <RestartNotice names={restartNeeded} />}
      {!may_configure && (
        <div className="mb-5 space-y-2">
          <p className="text-soft">{t.options.readOnly}</p>
          <CommandLine command="familiar config set KEY VALUE" />
        </div>
      )}
    </>
  )
  return {
    refresh,
    notice,
    editor: data
      ? {
          valueOf: (key) => {
            const found = find(key)
            return found?.value === undefined || found.value === null ? undefined : JSON.parse(found.value)
          },
          overriddenBy: (key) => {
            const found = find(key)
            return found?.origin === 'environment' || found?.origin === 'command_line'
              ? (found.place ?? undefined)
              : undefined
          },
          save,
          isDisabled: !may_configure,
        }
      : null,
  }
}

export function RestartNotice({ names }: { names: readonly string[] }) {
  return (
    <div className="mb-5">
      <Notice kind="warning">
        <p className="mb-2">{t.options.restart(formatList(names))}</p>
        <div className="text-ink">
          <CommandLine command="familiar restart" />
        </div>
      </Notice>
    </div>
  )
}

/** `?setting=<key>` in the address leads to a field: it is scrolled to, and its control has the focus. */
function useWantedSetting(isLoaded: boolean): void {
  const { query } = usePlace()
  const wanted = query.get('setting')
  useEffect(() => {
    if (!isLoaded || wanted === null) return
    const field = document.querySelector(`[data-setting="${CSS.escape(wanted)}"]`)
    field?.scrollIntoView({ block: 'center' })
    field?.querySelector<HTMLElement>('input, select, textarea')?.focus()
  }, [isLoaded, wanted])
}

interface FieldProps {
  editor: Editor
  name: string
  label: string
  hint?: string | undefined
}

const setByHint = (place: string | undefined, hint: string | undefined) =>
  place === undefined ? hint : t.options.setBy(place)

/** The chosen value is shown at once, and taken back if it was not saved. */
function usePending<T extends string | boolean>(editor: Editor, name: string, stored: T): [T, (value: T) => void] {
  const [pending, setPending] = useState<T>()
  async function choose(value: T): Promise<void> {
    setPending(value)
    if (!(await editor.save(name, value))) setPending(undefined)
  }
  return [pending ?? stored, (value) => void choose(value)]
}

/** A value of a few. One that is none of them is shown and kept. */
export function ChoiceSetting({ editor, name, label, hint, choices }: FieldProps & { choices: readonly Choice[] }) {
  const [value, choose] = usePending(editor, name, String(editor.valueOf(name) ?? ''))
  const place = editor.overriddenBy(name)
  const isKnown = choices.some((choice) => choice.value === value)
  return (
    <div data-setting={name}>
      <SelectField
        className="max-w-sm"
        label={label}
        hint={setByHint(place, hint)}
        isDisabled={editor.isDisabled || place !== undefined}
        choices={isKnown ? choices : [...choices, { value, label: t.options.byFile(value) }]}
        value={value}
        onChange={choose}
      />
    </div>
  )
}

export function SwitchSetting({ editor, name, label }: FieldProps) {
  const [isOn, choose] = usePending(editor, name, editor.valueOf(name) === true)
  return (
    <label data-setting={name} className="flex min-h-9 items-center gap-2">
      <input
        type="checkbox"
        disabled={editor.isDisabled}
        checked={isOn}
        onChange={(event) => choose(event.target.checked)}
      />
      {label}
    </label>
  )
}

/** Text or a number. An empty field restores the default. */
export function TextSetting(props: FieldProps & { isNumber?: boolean; placeholder?: string | undefined }) {
  const { editor, name, label, hint, isNumber = false, placeholder } = props
  const stored = editor.valueOf(name)
  const shown = stored === undefined || stored === null ? '' : String(stored)
  const [text, setText] = useState<string>()
  const [isBusy, setIsBusy] = useState(false)

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault()
    const value = (text ?? '').trim()
    setIsBusy(true)
    const isSaved = await editor.save(name, value === '' ? null : isNumber ? Number(value) : value)
    setIsBusy(false)
    if (isSaved) setText(undefined)
  }

  return (
    <form data-setting={name} className="flex max-w-sm items-end gap-2" onSubmit={(event) => void submit(event)}>
      <TextField
        className="flex-1"
        label={label}
        hint={hint}
        disabled={editor.isDisabled}
        {...(isNumber && { type: 'number', step: 'any', min: 0, inputMode: 'decimal' as const })}
        {...(placeholder !== undefined && { placeholder })}
        value={text ?? shown}
        onChange={(event) => setText(event.target.value)}
      />
      {text !== undefined && text !== shown && (
        <Button type="submit" kind="main" isBusy={isBusy}>
          {t.common.save}
        </Button>
      )}
    </form>
  )
}

/** The limits of `[budget]`. */
export function BudgetForm({ onChanged }: { onChanged(): void }) {
  const { editor, notice } = useSettings(onChanged)
  return (
    <Section title={t.options.budgets}>
      {notice}
      {editor && (
        <>
          <p className="mb-3 text-sm text-soft">{t.options.budgetsHint}</p>
          <div className="grid gap-3 sm:grid-cols-2">
            <TextSetting isNumber editor={editor} name="budget.per_message_usd" label={t.options.perMessage} />
            <TextSetting isNumber editor={editor} name="budget.per_build_usd" label={t.options.perBuild} />
            <TextSetting isNumber editor={editor} name="budget.per_day_usd" label={t.options.perDay} />
            <TextSetting
              isNumber
              editor={editor}
              name="budget.per_month_usd"
              label={t.options.perMonth}
              placeholder={t.options.noLimit}
            />
          </div>
        </>
      )}
    </Section>
  )
}
