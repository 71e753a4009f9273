import { SelectField, TextArea, TextField } from '../../components/field.tsx'
import type { SchemaField } from './schema-fields.ts'

/** One field of a form that was made from a schema. */
export function SchemaFieldInput(props: {
  field: SchemaField
  value: string
  problem: string | undefined
  onChange(value: string): void
}) {
  const { field, value, problem, onChange } = props
  const label = field.isRequired ? `${field.name} (needed)` : field.name
  switch (field.kind) {
    case 'boolean':
    case 'choice': {
      const choices = field.kind === 'boolean' ? ['true', 'false'] : field.choices
      const none = { value: '', label: field.isRequired ? 'Choose …' : 'Not given' }
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
          label={`${label}, as JSON`}
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
  if (kind === 'boolean') return choice === 'true' ? 'yes' : 'no'
  const value: unknown = JSON.parse(choice)
  return typeof value === 'string' ? value : choice
}
