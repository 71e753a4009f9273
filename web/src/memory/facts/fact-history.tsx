import { type FormEvent, useState } from 'react'
import type { FactReply, FactRequest } from '../../../../src/protocol/fact-api.ts'
import { Button } from '../../components/button.tsx'
import { TextField } from '../../components/field.tsx'
import { Section } from '../../components/screen.tsx'
import { Link } from '../../shell/link.tsx'
import { go } from '../../shell/router.ts'
import { formatDay } from '../times.ts'
import { useCorrections } from '../use-corrections.ts'

/** The values that a fact has had, and a new one in its place. */
export function FactHistory(props: { fact: FactReply; values: readonly FactReply[]; onChanged(): void }) {
  const { fact, values, onChanged } = props
  return (
    <Section title={`${fact.entity}: ${fact.attribute}`}>
      <ol className="mb-3 border-s-2 border-line ps-4 text-sm">
        {values.map(({ id, value, valid_from, valid_to }) => (
          <li key={id} className="py-1" aria-current={id === fact.id ? 'true' : undefined}>
            <Link
              href={`/memory/${encodeURIComponent(id)}`}
              className={id === fact.id ? 'font-medium' : 'text-soft underline underline-offset-4'}
            >
              {value}
            </Link>{' '}
            <span className="text-xs text-soft">
              {formatDay(valid_from)} – {valid_to ? formatDay(valid_to) : 'now'}
            </span>
          </li>
        ))}
      </ol>
      {fact.valid_to === null && <NewValue fact={fact} onChanged={onChanged} />}
    </Section>
  )
}

function NewValue({ fact, onChanged }: { fact: FactReply; onChanged(): void }) {
  const { stateFact } = useCorrections()
  const [value, setValue] = useState('')
  const [isBusy, setIsBusy] = useState(false)

  async function supersede(event: FormEvent): Promise<void> {
    event.preventDefault()
    setIsBusy(true)
    const body: FactRequest = { entity: fact.entity, attribute: fact.attribute, value: value.trim(), confidence: 1 }
    const place = (id: string) => `/memory/${encodeURIComponent(id)}`
    // What is undone is no longer there: back to what is true again.
    const written = await stateFact(body, () => go(place(fact.id)))
    setIsBusy(false)
    if (!written) return
    setValue('')
    if (written.fact.id === fact.id) onChanged()
    else go(place(written.fact.id))
  }

  return (
    <form className="flex items-end gap-2" onSubmit={(event) => void supersede(event)}>
      <TextField
        label="It is now"
        className="flex-1"
        value={value}
        maxLength={10_000}
        placeholder={fact.value}
        onChange={(event) => setValue(event.target.value)}
      />
      <Button type="submit" isBusy={isBusy} disabled={value.trim() === ''}>
        Supersede
      </Button>
    </form>
  )
}
