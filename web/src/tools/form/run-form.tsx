import { type FormEvent, useState } from 'react'
import type { Json } from '../../../../src/protocol/json.ts'
import { Button } from '../../components/button.tsx'
import { TextArea } from '../../components/field.tsx'
import { SchemaFieldInput } from './schema-field-input.tsx'
import { fieldsOf, formValue, readObject, typedFor } from './schema-fields.ts'

interface RunFormProps {
  schema: Json
  isBusy: boolean
  onRun(input: { [key: string]: Json }): void
  onStop(): void
}

/** What something is to be run with: field by field, or as the JSON that it is. */
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
          label="Input, as JSON"
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
          {isBusy ? 'Running …' : 'Run'}
        </Button>
        {isBusy && <Button onClick={onStop}>Stop</Button>}
        {fields.length > 0 && (
          <Button kind="quiet" onClick={raw === undefined ? toRaw : toForm}>
            {raw === undefined ? 'As JSON' : 'As a form'}
          </Button>
        )}
      </div>
    </form>
  )
}
