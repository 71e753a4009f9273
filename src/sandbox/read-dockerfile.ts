import type { DockerfileCopy, DockerfilePlan } from './dockerfile/dockerfile-plan.ts'
import { type Instruction, readInstructions } from './dockerfile/instructions.ts'
import { applyInstruction, emptyStage, type Stage, type StageRules } from './dockerfile/stage.ts'
import { readWords } from './dockerfile/words.ts'

export type { DockerfileCopy, DockerfilePlan }

/** Reads any text. Never throws: what is wrong or cannot be done is a problem with its line. */
export function readDockerfile(text: string): DockerfilePlan {
  const { instructions, escapeWith, unfinished } = readInstructions(text)
  const globals: Record<string, string> = Object.create(null)
  const rules: StageRules = { escapeWith, globals }
  const named = new Map<string, Stage>()
  // Holds what stands before the first FROM: nothing but ARG may.
  let stage = emptyStage(null)

  for (const instruction of instructions) {
    if (instruction.name === 'FROM') {
      const { image, name } = readFrom(instruction, rules)
      const base = named.get(image.toLowerCase())
      stage = base ? stageOn(base) : emptyStage(image)
      if (image === '') addFatal(stage.plan, instruction.line, 'FROM names no image')
      if (name !== undefined) named.set(name.toLowerCase(), stage)
    } else if (stage.plan.from !== null) {
      applyInstruction(stage, instruction, rules)
    } else if (instruction.name === 'ARG') {
      readGlobals(instruction, rules, globals)
    } else {
      addFatal(stage.plan, instruction.line, `${instruction.name} stands before the first FROM`)
    }
  }

  const { plan } = stage
  for (const { line, message } of unfinished) addFatal(plan, line, message)
  const lastLine = instructions.at(-1)?.line ?? 1
  if (plan.from === null) addFatal(plan, lastLine, 'There is no FROM')
  else if (plan.entrypoint.length + plan.cmd.length === 0) {
    addFatal(plan, lastLine, 'There is no ENTRYPOINT and no CMD, so what to run stands in the base image')
  }
  plan.problems.sort((a, b) => a.line - b.line)
  return plan
}

function readFrom(
  { rest }: Instruction,
  { escapeWith, globals }: StageRules,
): { image: string; name: string | undefined } {
  const [image = '', as, name] = readWords(rest, { escapeWith, variables: globals })
  return { image, name: as?.toLowerCase() === 'as' ? name : undefined }
}

function readGlobals({ rest }: Instruction, { escapeWith }: StageRules, globals: Record<string, string>): void {
  for (const word of readWords(rest, { escapeWith, variables: globals })) {
    const at = word.indexOf('=')
    if (at > 0) globals[word.slice(0, at)] = word.slice(at + 1)
  }
}

/** A stage on top of another one of the same file. */
function stageOn(base: Stage): Stage {
  const plan = structuredClone(base.plan)
  // A copy has a prototype again, and with it names that nobody set.
  plan.environment = Object.assign(Object.create(null), base.plan.environment)
  return { plan, arguments: Object.create(null), shell: base.shell, inheritsCmd: true }
}

function addFatal(plan: DockerfilePlan, line: number, message: string): void {
  plan.problems.push({ line, message, isFatal: true })
}
