/**
 * Of digits and commas: one value from the database instead of a row for each number, which is what the time would go
 * into. `List` is made longer than needed, and cut.
 */
export function parseNumbers<T extends Int32Array | Float64Array>(list: string, List: new (length: number) => T): T {
  // A digit and a comma at least.
  const numbers = new List(Math.ceil(list.length / 2))
  let count = 0
  let number = 0
  for (let index = 0; index < list.length; index += 1) {
    const code = list.charCodeAt(index)
    if (code === comma) {
      numbers[count] = number
      count += 1
      number = 0
    } else number = number * 10 + code - zero
  }
  if (list === '') return numbers
  numbers[count] = number
  return numbers.subarray(0, count + 1) as T
}

const comma = 0x2c
const zero = 0x30
