import { type FormEvent, useState } from 'react'
import type { AliasesReply } from '../../../../src/protocol/fact-api.ts'
import { type AskOptions, ask } from '../../api/ask.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { Button, IconButton } from '../../components/button.tsx'
import { TextField } from '../../components/field.tsx'
import { Icon } from '../../components/icon.tsx'
import { Failure } from '../../components/notice.tsx'
import { Section } from '../../components/screen.tsx'
import { useToasts } from '../../components/toast.tsx'

const path = '/memories/aliases'

/** Which names stand for the same person or thing. */
export function OtherNames() {
  const answer = useAnswer<AliasesReply>(path)
  const toasts = useToasts()
  const [alias, setAlias] = useState('')
  const [entity, setEntity] = useState('')

  async function change(options: AskOptions): Promise<boolean> {
    try {
      await ask(path, options)
      answer.refresh()
      return true
    } catch (error) {
      toasts.failed(error)
      return false
    }
  }

  async function add(event: FormEvent): Promise<void> {
    event.preventDefault()
    if (!(await change({ body: { alias, entity } }))) return
    setAlias('')
    setEntity('')
  }

  async function remove(name: { alias: string; entity: string }): Promise<void> {
    if (!(await change({ method: 'DELETE', query: name }))) return
    toasts.done(`${name.alias} no longer stands for ${name.entity}.`, {
      label: 'Undo',
      run: () => void change({ body: name }),
    })
  }

  return (
    <Section title="Other names">
      {answer.error && <Failure error={answer.error} onRetry={answer.refresh} />}
      <ul className="mb-3 flex flex-wrap gap-2 text-sm">
        {answer.data?.aliases.map((name) => (
          <li key={`${name.alias} ${name.entity}`} className="flex items-center rounded-lg bg-sunken ps-3">
            {name.alias} → {name.entity}
            <IconButton label={`${name.alias} is not ${name.entity}`} onClick={() => void remove(name)}>
              <Icon name="close" size={14} />
            </IconButton>
          </li>
        ))}
      </ul>
      <form className="flex flex-wrap items-end gap-2" onSubmit={(event) => void add(event)}>
        <TextField
          label="Name"
          className="min-w-36 flex-1"
          placeholder="Mum"
          maxLength={200}
          value={alias}
          onChange={(event) => setAlias(event.target.value)}
        />
        <TextField
          label="Stands for"
          className="min-w-36 flex-1"
          placeholder="Ruth"
          maxLength={200}
          value={entity}
          onChange={(event) => setEntity(event.target.value)}
        />
        <Button type="submit" disabled={alias.trim() === '' || entity.trim() === ''}>
          Add
        </Button>
      </form>
    </Section>
  )
}
