import type { Command } from 'commander'
import { handlers, type LoadHandler } from './handlers.ts'
import type { DefineCommand } from './memory-command.ts'

const name = 'name of a skill'

/** `familiar skills …`: instructions in folders, and which of them Familiar may use. */
export function addSkillCommands(program: Command, define: DefineCommand): Command {
  const skills = program
    .command('skills')
    .description('skills: instructions for certain tasks')
    .addHelpText('after', examples)
  const add = (command: string, description: string, load: LoadHandler) => define(command, description, load, skills)

  add('list', 'list the skills and how they are', handlers.skillsList)
  add('show', 'what one says, and the files that it brings', handlers.skillsShow).argument('<name>', name)
  add('enable', 'let one be used: also your word for one from elsewhere', handlers.skillsEnable)
    .argument('<name>', name)
    .option('-y, --yes', 'do not ask')
  add('disable', 'keep one from being used', handlers.skillsDisable).argument('<name>', name)
  add('new', 'write one for you to change', handlers.skillsNew)
    .argument('<name>', 'small letters, digits, "_" and "-"')
    .option('--description <text>', 'what it is for, and when')
  return skills
}

const examples = `
Examples:
  familiar skills new invoices --description "Use it when I ask for an invoice."
  familiar skills show pdf
  familiar skills enable pdf

A skill is a folder with a SKILL.md, as published for other agents: put it into workspace/skills in the home.`
