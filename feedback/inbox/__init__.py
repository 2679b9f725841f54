"""What waits for somebody, in the order it should be answered; answering is the desk's."""
