import { type FormEvent, useEffect, useRef, useState } from 'react'
import type { Card, Json } from '../../../src/protocol/messages.ts'
import type { ToolRunReply } from '../../../src/protocol/tools.ts'
import { call } from '../api/call.ts'
import { CardView } from '../components/card.tsx'
import { Badge, Button } from '../components/controls.tsx'
import { Notice } from '../components/feedback.tsx'
import { SelectField, TextArea, TextField } from '../components/forms.tsx'
import { duration } from '../components/layout.tsx'
import { t } from '../strings/strings.ts'
import { fieldsOf, formValue, readObject, type SchemaField, typedFor } from './schema-fields.ts'
import { OutputText, outcomeNames } from './tool-parts.tsx'

/** The card of a run that is in no conversation. */
function RunCard({ card }: { card: Card }) {
  const [document, setDocument] = useState<string>()
  useEffect(() => {
    const controller = new AbortController()
    call('page.cardDocument', card, { signal: controller.signal })
      .then((reply) => setDocument(reply.document))
      // Its text is below the frame in any case.
      .catch(() => undefined)
    return () => controller.abort()
  }, [card])
  return <CardView card={card} document={document} />
}

/** One field of a form that was made from a schema. */
function SchemaFieldInput(props: {
  field: SchemaField
  value: string
  problem: string | undefined
  onChange(value: string): void
}) {
  const { field, value, problem, onChange } = props
  const label = field.isRequired ? t.runForm.required(field.name) : field.name
  switch (field.kind) {
    case 'boolean':
    case 'choice': {
      const choices = field.kind === 'boolean' ? ['true', 'false'] : field.choices
      const none = { value: '', label: field.isRequired ? t.runForm.choose : t.runForm.notSet }
      return (
        <SelectField
          label={label}
          hint={problem ? <span className="text-bad">{problem}</span> : field.hint}
          value={value}
          onChange={onChange}
          choices={[none, ...choices.map((choice) => ({ value: choice, label: shown(field.kind, choice) }))]}
        />
      )
    }
    case 'json':
      return (
        <TextArea
          label={t.runForm.json(label)}
          hint={field.hint}
          error={problem}
          value={value}
          spellCheck={false}
          onChange={(event) => onChange(event.target.value)}
        />
      )
    default:
      return (
        <TextField
          label={label}
          hint={field.hint}
          error={problem}
          value={value}
          inputMode={field.kind === 'text' ? undefined : 'decimal'}
          onChange={(event) => onChange(event.target.value)}
        />
      )
  }
}

function shown(kind: SchemaField['kind'], choice: string): string {
  if (kind === 'boolean') return choice === 'true' ? t.common.yes : t.common.no
  const value: unknown = JSON.parse(choice)
  return typeof value === 'string' ? value : choice
}

interface RunFormProps {
  schema: Json
  isBusy: boolean
  onRun(input: { [key: string]: Json }): void
  onStop(): void
}

/** The input of a run: field by field, or as JSON. */
export function RunForm({ schema, isBusy, onRun, onStop }: RunFormProps) {
  const fields = fieldsOf(schema)
  const [typed, setTyped] = useState<Record<string, string>>({})
  const [problems, setProblems] = useState<Record<string, string>>({})
  // Undefined: the form. A schema without fields has JSON alone.
  const [raw, setRaw] = useState<string | undefined>(fields.length === 0 ? '{}' : undefined)
  const [rawProblem, setRawProblem] = useState<string>()

  function submit(event: FormEvent): void {
    event.preventDefault()
    if (raw === undefined) {
      const read = formValue(fields, typed)
      setProblems(read.ok ? {} : read.problems)
      if (read.ok) onRun(read.value)
    } else {
      const read = readObject(raw)
      setRawProblem(read.ok ? undefined : read.problem)
      if (read.ok) onRun(read.value)
    }
  }

  function toRaw(): void {
    const read = formValue(
      fields.map((field) => ({ ...field, isRequired: false })),
      typed,
    )
    setRaw(JSON.stringify(read.ok ? read.value : {}, null, 2))
  }

  function toForm(): void {
    const read = readObject(raw ?? '')
    setRawProblem(read.ok ? undefined : read.problem)
    if (!read.ok) return
    setTyped(typedFor(fields, read.value))
    setRaw(undefined)
  }

  return (
    <form className="space-y-3" onSubmit={submit}>
      {raw === undefined ? (
        fields.map((field) => (
          <SchemaFieldInput
            key={field.name}
            field={field}
            value={typed[field.name] ?? field.initial}
            problem={problems[field.name]}
            onChange={(value) => setTyped((before) => ({ ...before, [field.name]: value }))}
          />
        ))
      ) : (
        <TextArea
          label={t.runForm.inputJson}
          rows={6}
          spellCheck={false}
          className="font-mono text-sm"
          value={raw}
          error={rawProblem}
          onChange={(event) => setRaw(event.target.value)}
        />
      )}
      <div className="flex flex-wrap items-center gap-2">
        <Button type="submit" kind="main" isBusy={isBusy}>
          {isBusy ? t.runForm.running : t.runForm.run}
        </Button>
        {isBusy && <Button onClick={onStop}>{t.common.stop}</Button>}
        {fields.length > 0 && (
          <Button kind="quiet" onClick={raw === undefined ? toRaw : toForm}>
            {raw === undefined ? t.runForm.jsonTitle : t.runForm.form}
          </Button>
        )}
      </div>
    </form>
  )
}

interface RunOutcome {
  text: string | null
  card: Card | null
  error: string | null
  outcome: ToolRunReply['outcome']
  duration_ms: number
  driver: string | null
  log: string
  notes?: readonly string[]
}

/** The result of a manual run: its output and how it went. */
export function RunResult({ result }: { result: RunOutcome }) {
  const { text, card, error, outcome, duration_ms, driver, log, notes = [] } = result
  return (
    <section aria-label={t.runForm.result} aria-live="polite" className="mt-5 space-y-3">
      <p className="flex flex-wrap items-center gap-2 text-sm text-soft">
        <Badge kind={outcome === 'succeeded' ? 'good' : 'bad'}>{outcomeNames[outcome]}</Badge>
        <span>{duration(duration_ms)}</span>
        <span>{driver === null ? t.runForm.couldRun : t.runForm.inSandbox(driver)}</span>
      </p>
      {error && <Notice kind="error">{error}</Notice>}
      {notes.map((note) => (
        <Notice key={note}>{note}</Notice>
      ))}
      {card && <RunCard card={card} />}
      {text && <OutputText title={t.runForm.result} text={text} />}
      {log && <OutputText title={t.runForm.output} text={log} />}
    </section>
  )
}

/** Something that is run by hand and takes its time: what came of it, and a way to stop it. Leaving the screen stops it too. */
export function useRun<Reply>() {
  const [reply, setReply] = useState<Reply>()
  const [error, setError] = useState<Error>()
  const [isBusy, setIsBusy] = useState(false)
  const controller = useRef<AbortController>(undefined)
  useEffect(() => () => controller.current?.abort(), [])

  async function run(request: (signal: AbortSignal) => Promise<Reply>): Promise<void> {
    const mine = new AbortController()
    controller.current = mine
    setIsBusy(true)
    setError(undefined)
    setReply(undefined)
    try {
      setReply(await request(mine.signal))
    } catch (cause) {
      if (!mine.signal.aborted) setError(cause as Error)
    } finally {
      if (controller.current === mine) setIsBusy(false)
    }
  }

  return { run, stop: () => controller.current?.abort(), reply, error, isBusy }
}
