"""WaitFor: pause until a background task has ended or has written a certain line."""
