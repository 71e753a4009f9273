// Converts a quantity. Reads its payload from the argument, as the contract has it, and prints one JSON object.
import { convert, write } from './units.mjs'

const { params } = JSON.parse(Buffer.from(process.argv[2], 'base64').toString())

function answer({ value, from, to }) {
  const left = `${write(value)} ${from}`
  const right = `${write(convert(value, from, to))} ${to}`
  const html = `<div style="padding:12px;font-size:1.2rem">${escape(left)} = <b>${escape(right)}</b></div>`
  return { text: `${left} = ${right}`, html }
}

function escape(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

try {
  console.log(JSON.stringify(answer(params)))
} catch (problem) {
  console.log(JSON.stringify({ error: problem.message }))
  process.exitCode = 1
}
